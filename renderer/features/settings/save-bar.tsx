import { assertNever } from '#shared/assert.ts';
import type { SaveOutcome } from './use-saving.ts';
import type { Section } from './field.ts';
import { t } from '../../text/t.ts';

interface SaveBarProps {
  readonly section: Section;
  readonly dirty: boolean;
  readonly disabled: boolean;
  readonly outcome: SaveOutcome | null;
}

/** The end of a form: save, discard, and the state. */
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
        {t.settings.save.save}
      </button>
      <output data-kind={outcome?.kind ?? (dirty ? 'dirty' : 'clean')}>
        {outcome ? words(outcome, atField) : dirty && t.settings.save.unsaved}
      </output>
      <button type="reset" className="button" data-idle={!dirty || undefined}>
        {t.settings.save.discard}
      </button>
    </div>
  );
}

function words(outcome: SaveOutcome, atField: boolean): string {
  switch (outcome.kind) {
    case 'saving':
      return t.settings.save.saving;
    case 'saved':
      return outcome.later ? t.settings.save.later : t.settings.save.saved;
    case 'unchanged':
      return t.settings.save.unchanged;
    case 'refused':
      return atField ? t.settings.save.refusedAtField : t.settings.save.refused(outcome.message);
    default:
      return assertNever(outcome, 'outcome');
  }
}
