import { assertNever } from '#shared/assert.ts';
import type { SaveOutcome } from './use-saving.ts';
import type { Section } from './field.ts';

interface SaveBarProps {
  readonly section: Section;
  readonly dirty: boolean;
  readonly disabled: boolean;
  readonly outcome: SaveOutcome | null;
}

/** The end of a form: save, give up, and how it stands. */
export function SaveBar({ section, dirty, disabled, outcome }: SaveBarProps) {
  const atField = section.fields.some(
    ({ path }) => outcome?.kind === 'refused' && outcome.param === path,
  );
  return (
    <div className="save-bar">
      <button
        type="submit"
        className="button"
        data-primary={dirty || undefined}
        disabled={disabled}
      >
        Save
      </button>
      <output data-kind={outcome?.kind ?? (dirty ? 'dirty' : 'clean')}>
        {outcome ? words(outcome, atField) : dirty && 'Not saved yet'}
      </output>
      <button type="reset" className="button" data-idle={!dirty || undefined}>
        Discard
      </button>
    </div>
  );
}

function words(outcome: SaveOutcome, atField: boolean): string {
  switch (outcome.kind) {
    case 'saving':
      return 'Saving…';
    case 'saved':
      return outcome.later ? 'Saved; takes effect after a restart' : 'Saved and applied';
    case 'unchanged':
      return 'Nothing to save';
    case 'refused':
      return atField ? 'Not saved: fix the highlighted field' : `Not saved. ${outcome.message}`;
    default:
      return assertNever(outcome, 'outcome');
  }
}
