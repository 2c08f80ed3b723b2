import { type ComponentProps, useId } from 'react';
import { t } from '../text/t.ts';

interface TextFieldProps extends Omit<ComponentProps<'input'>, 'onChange'> {
  readonly label: string;
  readonly onChange: (text: string) => void;
}

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

interface SwitchProps {
  readonly id?: string;
  readonly label: string;
  readonly on: boolean;
  readonly disabled: boolean;
  readonly describedBy?: string | undefined;
  readonly onChange: (on: boolean) => void;
}

export function Switch({ id, label, on, disabled, describedBy, onChange }: SwitchProps) {
  const ownId = useId();
  return (
    <span className="switch">
      <input
        id={id ?? ownId}
        type="checkbox"
        checked={on}
        disabled={disabled}
        aria-describedby={describedBy}
        onChange={({ target }) => onChange(target.checked)}
      />
      <label htmlFor={id ?? ownId}>{label}</label>
      <span className="switch-word" aria-hidden="true">
        {on ? t.shell.switch.on : t.shell.switch.off}
      </span>
    </span>
  );
}

export function ErrorText({ text }: { readonly text: string | null }) {
  return text === null ? null : (
    <p className="error-text" role="alert">
      {text}
    </p>
  );
}
