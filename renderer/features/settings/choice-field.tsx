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
      {/* A value saved by another version may be unknown here. */}
      {!isKnown && <option value={chosen}>{chosen}</option>}
      {choices.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}
