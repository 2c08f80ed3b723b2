import { useId, useState } from 'react';
import type { UpstreamId } from '#shared/ids.ts';
import { DEMO_FAULTS, type DemoFault } from '#shared/live.ts';
import type { StatusReport, UpstreamReport } from '#shared/status.ts';
import type { Refusal } from '../../api/client.ts';
import * as t from '../../text/t.ts';
import { ControlButton, ReadOnlyNote } from '../../ui/buttons.tsx';
import { ErrorText, Select, Switch } from '../../ui/fields.tsx';
import { useAttempt, useOptimisticValue } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';
import { SetupDialog } from '../setup/setup-dialog.tsx';
import { TestButton } from '../setup/upstream-test.tsx';
import { DemoTour } from './demo-tour.tsx';
import { UpstreamCard } from './upstream-card.tsx';
import { isSure, isUnconfigured, type UpstreamList, type UpstreamView } from './upstream-list.ts';

export function UpstreamTrack({ list }: { readonly list: UpstreamList }) {
  const { data, control } = useWindow();
  const [settingUp, setUp] = useState<UpstreamId | null>(null);
  const aimedAt = list.upstreams.find(({ report }) => report.id === settingUp);
  const faults = data.app.demo?.faults;
  return (
    <section className="panel track-panel" aria-labelledby="track-title">
      <h2 id="track-title" className="unseen">
        Upstreams, in fallback order
      </h2>
      <div
        className="upstream-track"
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
          {list.upstreams.map((upstream) => {
            const { id, label } = upstream.report;
            return (
              <UpstreamCard key={id} upstream={upstream} onSetUp={control ? () => setUp(id) : null}>
                <UpstreamActions upstream={upstream} />
                {faults && <FaultSwitch id={id} label={label} fault={faults[id]} />}
              </UpstreamCard>
            );
          })}
        </ol>
      </div>
      {!isUnconfigured(list) && <RoutingRules list={list} />}
      {faults && <DemoTour faults={faults} />}
      {!control && <ReadOnlyNote />}
      {aimedAt && (
        <SetupDialog
          id={aimedAt.report.id}
          label={aimedAt.report.label}
          onClose={() => setUp(null)}
        />
      )}
    </section>
  );
}

const RESET = {
  word: 'Reset',
  more: '',
  title: 'Closes the circuit breaker and clears failures and exclusions: the next request tries it',
  done: 'reset; the next request tries it',
};

const WARM_UP = {
  word: 'Warm up',
  more: ' now',
  title: 'Starts it now, so that it is ready as a fallback',
  done: 'warming up',
};

/** The upstream's action buttons; the space stays reserved without any, so that the layout does not shift. */
function UpstreamActions({ upstream }: { readonly upstream: UpstreamView }) {
  const { data, actions } = useWindow();
  const { report, condition } = upstream;
  const { id, label } = report;
  const [said, setSaid] = useState('');
  const { error, attempt } = useAttempt();
  const button = (action: typeof RESET, send: () => Promise<Refusal | null>) => {
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
        <span className="roomy">{action.more}</span>
        <span className="unseen"> {label}</span>
      </ControlButton>
    );
  };
  return (
    <div className="upstream-actions">
      {isResettable(report) && button(RESET, () => actions.resetCircuit(id))}
      {isWarmable(upstream, data.status) && button(WARM_UP, actions.warmUp)}
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

/** True if a reset would change something: the upstream is skipped, or close to it. */
export const isResettable = ({ circuit, skips }: UpstreamReport): boolean =>
  circuit.open || skips.length > 0 || circuit.consecutiveFails > 0;

/** True if a warm-up can be started; it costs money, so not in zero-spend mode. */
export function isWarmable({ report, condition }: UpstreamView, status: StatusReport): boolean {
  if (report.id !== 'ondemand' || condition.kind === 'missing' || status.zero) return false;
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
  const at = (id: UpstreamId) => list.upstreams.find(({ report }) => report.id === id);
  const last = at('ondemand');
  const local = at('local')?.report.label ?? '';
  const others = list.upstreams.filter(({ report }) => report.id !== 'local');
  const hasPaid = others.some(({ condition }) => condition.kind !== 'missing');
  const paid = hasPaid
    ? `If ${local} fails, paid upstreams may answer.`
    : 'No paid upstream is set up.';
  return (
    <div className="rules">
      <Rule
        section="routing"
        setting="forceZero"
        label="Local only"
        on={forceZero}
        hint={
          forceZero ? `Requests go to ${local} or fail; paid upstreams are never called.` : paid
        }
      />
      {last && last.condition.kind !== 'missing' && (
        <Rule
          section="ondemand"
          setting="warmup"
          label="Warm up the on-demand GPU when Local fails"
          on={data.app.warmupEnabled}
          hint={warmupHint(last.report.label, forceZero, data.app.warmupEnabled)}
        />
      )}
    </div>
  );
}

function warmupHint(label: string, forceZero: boolean, on: boolean): string {
  if (forceZero) return 'Off while “Local only” is on.';
  return on
    ? `${label} starts in the background, ready as a fallback.`
    : `${label} starts only when a request reaches it.`;
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
