import { useId, useState } from 'react';
import { NOTE_LIMITS, type ProviderNote } from '#shared/provider-notes.ts';
import type { Refusal } from '../../api/client.ts';
import { t } from '../../text/t.ts';
import { ErrorText } from '../../ui/error-text.tsx';
import { READ_ONLY_NOTE } from '../../ui/read-only-note.tsx';

interface OwnNoteProps {
  readonly note: ProviderNote;
  readonly hostname: string;
  readonly control: boolean;
  readonly onSave: (note: ProviderNote) => Promise<Refusal | null>;
}

const words = t.providers.note;

/** The owner's name for a machine and the note about it. */
export function OwnNote({ note, hostname, control, onSave }: OwnNoteProps) {
  const [draft, setDraft] = useState(note);
  const [error, setError] = useState<string | null>(null);
  const id = useId();
  const isChanged = draft.name !== note.name || draft.note !== note.note;
  return (
    <form
      className="panel own-note"
      aria-label={words.title}
      onSubmit={(event) => {
        event.preventDefault();
        void onSave(draft).then((refusal) => setError(refusal?.message ?? null));
      }}
    >
      <label htmlFor={`${id}-name`}>{words.name}</label>
      <input
        id={`${id}-name`}
        value={draft.name}
        maxLength={NOTE_LIMITS.name}
        placeholder={hostname}
        autoComplete="off"
        readOnly={!control}
        aria-describedby={control ? undefined : READ_ONLY_NOTE}
        onChange={({ target }) => setDraft({ ...draft, name: target.value })}
      />
      <label htmlFor={`${id}-note`}>{words.note}</label>
      <textarea
        id={`${id}-note`}
        rows={2}
        value={draft.note}
        maxLength={NOTE_LIMITS.note}
        readOnly={!control}
        aria-describedby={control ? undefined : READ_ONLY_NOTE}
        onChange={({ target }) => setDraft({ ...draft, note: target.value })}
      />
      <button type="submit" className="button" disabled={!control || !isChanged}>
        {t.settings.save.save}
      </button>
      <ErrorText text={error} />
    </form>
  );
}
