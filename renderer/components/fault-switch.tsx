import { useState } from 'react';
import { DEMO_FAULTS, type DemoFault } from '#shared/live.ts';

const WORDS: Readonly<Record<DemoFault, string>> = {
  none: 'healthy',
  refuse: 'refuses',
  '429': '429 limit',
  '500': '500 errors',
  slow: 'slow start',
  cut: 'cuts off',
  stall: 'stalls',
};

interface FaultSwitchProps {
  readonly label: string;
  readonly fault: DemoFault;
  readonly disabled: boolean;
  readonly onChange: (fault: DemoFault) => Promise<string | null>;
}

interface Wish {
  readonly fault: DemoFault;
  /** What the gateway reported when it was made: once that changes, the report counts again. */
  readonly over: DemoFault;
}

/** Chooses what a demo upstream does. */
export function FaultSwitch({ label, fault, disabled, onChange }: FaultSwitchProps) {
  const [wish, setWish] = useState<Wish | null>(null);
  const [error, setError] = useState<string | null>(null);
  const shown = wish && wish.over === fault ? wish.fault : fault;

  const choose = async (next: DemoFault): Promise<void> => {
    setWish({ fault: next, over: fault });
    const refused = await onChange(next);
    setError(refused);
    if (refused !== null) setWish(null);
  };

  return (
    <div className="fault">
      <label>
        <span className="unseen">{label}: </span>behaves
        <select
          value={shown}
          disabled={disabled}
          data-broken={shown !== 'none' || undefined}
          onChange={({ target }) => {
            const next = DEMO_FAULTS.find((known) => known === target.value);
            if (next) void choose(next);
          }}
        >
          {DEMO_FAULTS.map((known) => (
            <option key={known} value={known}>
              {WORDS[known]}
            </option>
          ))}
        </select>
      </label>
      {error !== null && (
        <p className="error-text" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
