import { useId } from 'react';
import { t } from '../text/t.ts';

interface SwitchProps {
  readonly id?: string;
  readonly label: string;
  readonly on: boolean;
  readonly disabled: boolean;
  readonly describedBy?: string | undefined;
  readonly onChange: (on: boolean) => void;
}

/** A switch that also shows its state as a word. */
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
