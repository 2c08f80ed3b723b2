import { t } from '../text/t.ts';

/** Id of the note, which describes every element that is disabled without control. */
export const READ_ONLY_NOTE = 'read-only-note';

/** Says why nothing can be changed here, and how to get control. */
export function ReadOnlyNote() {
  return (
    <p className="panel-note" id={READ_ONLY_NOTE}>
      <span>{t.shell.readOnly}</span>
    </p>
  );
}
