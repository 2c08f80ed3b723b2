import { useState } from 'react';
import { limitOf } from './owner-rules-model.ts';
import { t } from '../../text/t.ts';

interface TemperatureLimitProps {
  readonly limit: number | string;
  readonly disabled: boolean;
  /** Whether the gateway refused the last limit. */
  readonly isRefused: boolean;
  readonly onLimit: (limit: number | string) => void;
}

/** A field for a limit in °C, saved when it loses the focus or Enter is pressed. */
export function TemperatureLimit({ limit, disabled, isRefused, onLimit }: TemperatureLimitProps) {
  const [entered, setEntered] = useState<string | null>(null);
  const enter = (): void => {
    setEntered(null);
    // An empty field leaves the limit unchanged; the switch removes it.
    if (entered !== null && entered.trim() !== '' && entered.trim() !== String(limit))
      onLimit(limitOf(entered));
  };
  return (
    <span className="limit">
      <input
        type="text"
        inputMode="numeric"
        autoComplete="off"
        aria-label={t.thisMachine.rules.limit}
        aria-invalid={isRefused}
        value={entered ?? String(limit)}
        disabled={disabled}
        onChange={({ target }) => setEntered(target.value)}
        onBlur={enter}
        onKeyDown={({ key }) => {
          if (key === 'Enter') enter();
          if (key === 'Escape') setEntered(null);
        }}
      />
      <span className="unit" aria-hidden="true">
        {t.thisMachine.rules.unit}
      </span>
    </span>
  );
}
