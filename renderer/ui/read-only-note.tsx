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
