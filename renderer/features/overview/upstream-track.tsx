import { type CSSProperties, useId, useState } from 'react';
import type { Condition } from '#shared/condition.ts';
import type { UpstreamId } from '#shared/ids.ts';
import { DEMO_FAULTS, type DemoFault } from '#shared/live.ts';
import type { StatusReport } from '#shared/status.ts';
import type { Refusal } from '../../api/client.ts';
import * as t from '../../text/t.ts';
import { ControlButton } from '../../ui/buttons.tsx';
import { ErrorText, Select, Switch } from '../../ui/fields.tsx';
import { useAttempt, useOptimisticValue } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';
import { AddSource, freeSeats, isSetUp } from '../setup/setup-dialog.tsx';
import { TestButton } from '../setup/upstream-test.tsx';
import { DemoTour } from './demo-tour.tsx';
import { UpstreamCard } from './upstream-card.tsx';
import { isSure, type UpstreamList, type UpstreamView } from './upstream-list.ts';

export function UpstreamTrack({ list }: { readonly list: UpstreamList }) {
  const { data } = useWindow();
  const faults = data.app.demo?.faults;
  const stations = list.upstreams.filter(({ condition }) => isSetUp(condition));
  return (
    <section className="panel track-panel" aria-labelledby="track-title">
      <h2 id="track-title" className="unseen">
        Sources, in the order in which they are asked
      </h2>
      <div
        className="upstream-track"
        style={{ '--stations': stations.length } as CSSProperties}
        data-moving={list.totalInFlight > 0 || undefined}
        data-unsure={(list.server !== null && !isSure(list.server)) || undefined}
      >
        <div className="origin">
          <div className="track" aria-hidden="true">
            <span className="origin-mark" />
            <span className="segment" data-live={list.server !== null || undefined} />
          </div>
          <p className="origin-name">Your apps</p>
        </div>
        <ol>
          {stations.map((upstream) => {
            const { id, label } = upstream.report;
            return (
              <UpstreamCard key={id} upstream={upstream}>
                <UpstreamActions upstream={upstream} />
                {faults && <FaultSwitch id={id} label={label} fault={faults[id]} />}
              </UpstreamCard>
            );
          })}
        </ol>
        <div className="add-station">
          <AddSource seats={freeSeats(data.judgement)} />
        </div>
      </div>
      <RoutingRules list={list} />
      {faults && <DemoTour faults={faults} />}
    </section>
  );
}

const RETRY = {
  word: 'Try again now',
  title: 'Ends the pause: the next request goes to it',
  done: 'the next request goes to it',
};

const START = {
  word: 'Start now',
  title: 'Starts it, so that it is ready as a fallback',
  done: 'starting',
};

/** The upstream's action buttons; the space stays reserved without any, so that the layout does not shift. */
function UpstreamActions({ upstream }: { readonly upstream: UpstreamView }) {
  const { data, actions } = useWindow();
  const { report, condition } = upstream;
  const { id, label } = report;
  const [said, setSaid] = useState('');
  const { error, attempt } = useAttempt();
  const button = (action: typeof RETRY, send: () => Promise<Refusal | null>) => {
    const run = async (pressed: HTMLElement): Promise<void> => {
      const name = pressed.closest('.upstream-card')?.querySelector('h3');
      const isDone = await attempt(send());
      setSaid(isDone ? `${label}: ${action.done}` : '');
      // The button disappears on success, so the focus moves to the upstream's name.
      if (isDone) name?.focus({ preventScroll: true });
    };
    return (
      <ControlButton title={action.title} onClick={({ currentTarget }) => void run(currentTarget)}>
        {action.word}
        <span className="unseen"> {label}</span>
      </ControlButton>
    );
  };
  return (
    <div className="upstream-actions">
      {isPaused(upstream) && button(RETRY, () => actions.resetCircuit(id))}
      {isWarmable(upstream, data.status) && button(START, actions.warmUp)}
      {condition.kind !== 'missing' && (
        <TestButton id={id}>
          Test<span className="unseen"> {label}</span>
        </TestButton>
      )}
      <output className="unseen">{said}</output>
      <ErrorText text={error} />
    </div>
  );
}

/** Whether requests skip it for a while. A budget that is spent does not count: no try ends it. */
export const isPaused = ({ condition }: UpstreamView): boolean =>
  condition.kind === 'cooling' || (condition.kind === 'skipped' && condition.reason !== 'budget');

/** True if it can be started; that costs money, so not while none may be spent. */
export function isWarmable({ report, condition }: UpstreamView, status: StatusReport): boolean {
  const { kind } = condition;
  if (report.id !== 'ondemand' || kind === 'missing' || kind === 'zero-spend') return false;
  return status.ondemand_warmup === 'idle' || status.ondemand_warmup === 'failed';
}

interface FaultSwitchProps {
  readonly id: UpstreamId;
  readonly label: string;
  readonly fault: DemoFault;
}

function FaultSwitch({ id, label, fault }: FaultSwitchProps) {
  const { control, actions } = useWindow();
  const { shown, error, choose } = useOptimisticValue(fault, (next: DemoFault) =>
    actions.setFault(id, next),
  );
  return (
    <div className="fault">
      <label>
        <span className="unseen">{`${label}: `}</span>
        Simulate
        <Select
          value={shown}
          disabled={!control}
          data-broken={shown !== 'none' || undefined}
          options={DEMO_FAULTS.map((known) => [known, t.overview.demo.faults[known]])}
          onChoose={choose}
        />
      </label>
      <ErrorText text={error} />
    </div>
  );
}

export function RoutingRules({ list }: { readonly list: UpstreamList }) {
  const { data } = useWindow();
  const { forceZero } = data.status;
  const last = list.upstreams.find(({ report }) => report.id === 'ondemand');
  const stations = list.upstreams.filter(({ condition }) => isSetUp(condition));
  const paid = stations.filter(({ report }) => report.id !== 'local');
  // Without a fallback there is nothing to forbid, and without a GPU it would forbid everything.
  const isOffered = forceZero || (paid.length > 0 && paid.length < stations.length);
  if (!isOffered && last?.condition.kind === 'missing') return null;
  return (
    <div className="rules">
      {isOffered && (
        <Rule
          section="routing"
          setting="forceZero"
          label={t.overview.neverSpend}
          on={forceZero}
          hint={spendingHint(forceZero, paid)}
        />
      )}
      {last && last.condition.kind !== 'missing' && (
        <Rule
          section="ondemand"
          setting="warmup"
          label={`Start ${last.report.label} when your GPUs fail`}
          on={data.app.warmupEnabled}
          hint={warmupHint(last.condition, data.app.warmupEnabled)}
        />
      )}
    </div>
  );
}

export function spendingHint(forceZero: boolean, paid: readonly UpstreamView[]): string {
  if (forceZero) return 'Requests go to your GPUs or fail; what costs money is never asked.';
  return paid.every(({ condition }) => condition.kind === 'zero-spend')
    ? 'No fallback may cost money: each has a budget of 0.'
    : 'If your GPUs fail, a fallback that costs money may answer.';
}

export function warmupHint(condition: Condition, on: boolean): string {
  if (condition.kind === 'zero-spend')
    return `Off while ${condition.by === 'budget' ? 'its budget is 0' : `“${t.overview.neverSpend}” is on`}.`;
  return on
    ? 'It starts in the background, ready as a fallback.'
    : 'It starts only when a request reaches it.';
}

interface RuleProps {
  readonly section: string;
  readonly setting: string;
  readonly label: string;
  readonly on: boolean;
  readonly hint: string;
}

function Rule({ section, setting, label, on, hint }: RuleProps) {
  const { control, settings, actions } = useWindow();
  const hintId = useId();
  const { shown, error, choose } = useOptimisticValue(on, (next: boolean) =>
    actions.saveSettings({ [section]: { [setting]: next } }),
  );
  const known = settings.kind === 'read' ? settings.view[section]?.[setting] : undefined;
  const held = known?.source === 'env';
  return (
    <div className="rule">
      <Switch
        label={label}
        on={shown}
        disabled={!control || held}
        describedBy={hintId}
        onChange={choose}
      />
      <p id={hintId} className="quiet">
        {held ? (
          <>
            Set by <code>{known.env}</code>; change it there and restart.
          </>
        ) : (
          hint
        )}
      </p>
      <ErrorText text={error} />
    </div>
  );
}
