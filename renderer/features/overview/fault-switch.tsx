import { DEMO_FAULTS, type DemoFault } from '#shared/live.ts';
import type { Refusal } from '../../api/client.ts';
import { useWish } from '../../ui/use-wish.ts';
import { ErrorText } from '../../ui/error-text.tsx';

const WORDS: Readonly<Record<DemoFault, string>> = {
  none: 'healthy',
  refuse: 'unreachable',
  '429': '429 limit',
  '500': '500 errors',
  slow: 'slow start',
  cut: 'drops stream',
  stall: 'stalls',
};

interface FaultSwitchProps {
  readonly label: string;
  readonly fault: DemoFault;
  readonly disabled: boolean;
  readonly onChange: (fault: DemoFault) => Promise<Refusal | null>;
}

/** Chooses what a demo upstream does. */
export function FaultSwitch({ label, fault, disabled, onChange }: FaultSwitchProps) {
  const { shown, error, choose } = useWish(fault, onChange);
  return (
    <div className="fault">
      <label>
        <span className="unseen">{label}: </span>Simulate
        <select
          value={shown}
          disabled={disabled}
          data-broken={shown !== 'none' || undefined}
          onChange={({ target }) => {
            const next = DEMO_FAULTS.find((known) => known === target.value);
            if (next) choose(next);
          }}
        >
          {DEMO_FAULTS.map((known) => (
            <option key={known} value={known}>
              {WORDS[known]}
            </option>
          ))}
        </select>
      </label>
      <ErrorText text={error} />
    </div>
  );
}
