import type { ComponentProps } from 'react';
import { useWindow } from '../window-context.ts';
import { READ_ONLY_NOTE } from './read-only-note.tsx';

/** A button in the window's look; it submits no form unless its type says so. */
export function Button(props: ComponentProps<'button'>) {
  return <button type="button" className="button" {...props} />;
}

/** A button that changes something; without control it is disabled and says why. */
export function ControlButton(props: ComponentProps<'button'>) {
  const { control } = useWindow();
  const describedBy = control ? undefined : READ_ONLY_NOTE;
  return <Button disabled={!control} aria-describedby={describedBy} {...props} />;
}
