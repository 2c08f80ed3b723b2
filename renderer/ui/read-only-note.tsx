import { t } from '../text/t.ts';
import { useWindow } from '../window-context.ts';

/** Id of the note, which describes every element that is disabled without control. */
export const READ_ONLY_NOTE = 'read-only-note';

/** Says why nothing can be changed here, and how to get control. */
export function ReadOnlyNote() {
  const { command, demo } = useWindow().data.app;
  return (
    <p className="panel-note" id={READ_ONLY_NOTE}>
      <span>{demo === undefined ? t.shell.readOnly(command) : t.shell.readOnlyDemo}</span>
    </p>
  );
}
