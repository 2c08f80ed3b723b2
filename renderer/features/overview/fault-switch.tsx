import { DEMO_FAULTS, type DemoFault } from '#shared/live.ts';
import type { Refusal } from '../../api/client.ts';
import { t } from '../../text/t.ts';
import { useOptimisticValue } from '../../ui/use-optimistic-value.ts';
import { ErrorText } from '../../ui/error-text.tsx';

interface FaultSwitchProps {
  readonly label: string;
  readonly fault: DemoFault;
  readonly disabled: boolean;
  readonly onChange: (fault: DemoFault) => Promise<Refusal | null>;
}

/** Chooses what a demo upstream does. */
export function FaultSwitch({ label, fault, disabled, onChange }: FaultSwitchProps) {
  const { shown, error, choose } = useOptimisticValue(fault, onChange);
  return (
    <div className="fault">
      <label>
        <span className="unseen">{t.overview.demo.of(label)}</span>
        {t.overview.demo.simulate}
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
              {t.overview.demo.faults[known]}
            </option>
          ))}
        </select>
      </label>
      <ErrorText text={error} />
    </div>
  );
}
