import type { ComponentProps } from 'react';
import { t } from '../text/t.ts';

/** Its id: what is switched off for want of control is described by it. */
export const READ_ONLY_NOTE = 'read-only-note';

/** Why nothing here can be changed, and how that changes. */
export function ReadOnlyNote() {
  return (
    <p className="line-note" id={READ_ONLY_NOTE}>
      <span>{t.shell.readOnly}</span>
    </p>
  );
}

/** A button that gives an order: off, with the reason, where the page may give none. */
export function ControlButton({
  control,
  ...props
}: { readonly control: boolean } & ComponentProps<'button'>) {
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
