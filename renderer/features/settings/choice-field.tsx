import type { Choice } from './field.ts';

interface ChoiceFieldProps {
  readonly id: string;
  readonly choices: readonly Choice[];
  readonly chosen: string;
  readonly noteId: string;
  readonly invalid: boolean;
  readonly disabled: boolean;
  readonly onChange: (value: string) => void;
}

/** One of a few values; the note under it says what comes of the one that is chosen. */
export function ChoiceField(props: ChoiceFieldProps) {
  const { id, choices, chosen, noteId, invalid, disabled, onChange } = props;
  const isKnown = choices.some(({ value }) => value === chosen);
  return (
    <select
      id={id}
      value={chosen}
      disabled={disabled}
      aria-invalid={invalid}
      aria-describedby={noteId}
      onChange={({ target }) => onChange(target.value)}
    >
      {/* A newer gateway may have one more. */}
      {!isKnown && <option value={chosen}>{chosen}</option>}
      {choices.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}
