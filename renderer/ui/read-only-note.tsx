import type { ComponentProps } from 'react';
import { t } from '../text/t.ts';
import { useWindow } from '../window-context.ts';

/** Id of the note, which describes every element that is disabled without control. */
export const READ_ONLY_NOTE = 'read-only-note';

/** Says why nothing can be changed here, and how to get control. */
export function ReadOnlyNote() {
  return (
    <p className="line-note" id={READ_ONLY_NOTE}>
      <span>{t.shell.readOnly}</span>
    </p>
  );
}

/** A button for an order; without control it is disabled and says why. */
export function ControlButton(props: ComponentProps<'button'>) {
  const { control } = useWindow();
  return (
    <button
      type="button"
      className="button"
      disabled={!control}
      aria-describedby={control ? undefined : READ_ONLY_NOTE}
      {...props}
    />
  );
}
