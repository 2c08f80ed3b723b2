import type { ComponentProps } from 'react';

interface TextFieldProps extends Omit<ComponentProps<'input'>, 'onChange'> {
  readonly label: string;
  readonly onChange: (text: string) => void;
}

/** A field for an address or a name, with its label above. */
export function TextField({ label, onChange, ...input }: TextFieldProps) {
  return (
    <label className="setup-field">
      <span>{label}</span>
      <input
        autoComplete="off"
        spellCheck={false}
        {...input}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  );
}
