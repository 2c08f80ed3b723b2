import { useState } from 'react';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { DemoFault, DemoFaults } from '#shared/live.ts';
import type { Control } from '../../api/control.ts';
import { hashOf } from '../../route.ts';
import * as t from '../../text/t.ts';
import { ControlButton, READ_ONLY_NOTE } from '../../ui/buttons.tsx';
import { ErrorText, Switch } from '../../ui/fields.tsx';
import { useOptimisticValue } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';

const words = t.overview.demo;

type StepName = keyof typeof words.steps;

/** What each step breaks; the upstreams that it does not name are healthy. */
const STEPS: readonly {
  readonly name: StepName;
  readonly faults: Partial<Record<UpstreamId, DemoFault>>;
}[] = [
  { name: 'break', faults: { local: 'refuse' } },
  { name: 'hedge', faults: { local: 'refuse', hosted_a: 'slow' } },
  { name: 'resume', faults: { local: 'cut' } },
  { name: 'heal', faults: {} },
];

export function DemoTour({ faults }: { readonly faults: DemoFaults }) {
  const { actions } = useWindow();
  const [error, setError] = useState<string | null>(null);
  // Before anything was broken, nothing has been healed: the last step is not the one to begin with.
  const [hasBroken, setHasBroken] = useState(false);
  const matching = STEPS.find((step) =>
    UPSTREAM_IDS.every((id) => faults[id] === (step.faults[id] ?? 'none')),
  );
  if (matching?.name !== 'heal' && !hasBroken) setHasBroken(true);
  const current = hasBroken ? matching : undefined;
  const idle = hasBroken
    ? 'Custom faults: the headline shows who answers.'
    : 'Everything is healthy, and your GPUs answer. Begin with step 1.';

  const take = async (step: (typeof STEPS)[number]): Promise<void> => {
    setError(await play(step.faults, faults, actions));
  };

  return (
    <section className="demo-tour" aria-labelledby="demo-title">
      <p>
        <strong className="demo-badge" id="demo-title">
          Demo
        </strong>{' '}
        <span>
          The sources are simulated, and their answers are canned text. Break one above, or take
          these steps:
        </span>
      </p>
      <ol className="row">
        {STEPS.map((step) => (
          <li key={step.name}>
            <ControlButton
              aria-pressed={current?.name === step.name}
              onClick={() => void take(step)}
            >
              {words.steps[step.name].word}
            </ControlButton>
          </li>
        ))}
      </ol>
      <p aria-live="polite">
        {current === undefined ? idle : words.steps[current.name].watch}{' '}
        <a href={hashOf({ page: 'requests', filter: 'all' })}>{t.overview.all}</a>
      </p>
      <Traffic />
      <ErrorText text={error} />
    </section>
  );
}

/** Breaks and heals what differs, and lets every upstream be tried at once; resolves with an error message, or null. */
async function play(
  wanted: Partial<Record<UpstreamId, DemoFault>>,
  now: DemoFaults,
  { setFault, resetCircuit }: Pick<Control, 'setFault' | 'resetCircuit'>,
): Promise<string | null> {
  for (const id of UPSTREAM_IDS) {
    const fault = wanted[id] ?? 'none';
    const refusal = fault === now[id] ? null : await setFault(id, fault);
    if (refusal !== null) return refusal.message;
    const stuck = fault === 'refuse' ? null : await resetCircuit(id);
    if (stuck !== null) return stuck.message;
  }
  return null;
}

function Traffic() {
  const { data, control, actions } = useWindow();
  const { shown, error, choose } = useOptimisticValue(
    data.app.demo?.traffic ?? false,
    actions.setTraffic,
  );
  return (
    <div>
      <Switch
        label="Send a request every second"
        on={shown}
        disabled={!control}
        describedBy={control ? undefined : READ_ONLY_NOTE}
        onChange={choose}
      />
      <ErrorText text={error} />
    </div>
  );
}
