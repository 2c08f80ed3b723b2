import { useState } from 'react';
import type { UpstreamId } from '#shared/ids.ts';
import type { Agent } from '../../api/agent.ts';
import type { Control } from '../../api/control.ts';
import type { ProvidersSummary, UpstreamTally } from '#shared/live.ts';
import type { UpstreamReport } from '#shared/status.ts';
import type { LiveData } from '../../api/live-data.ts';
import type { SettingsState } from '../../api/window-state.ts';
import { isUnconfigured } from './status-summary-text.ts';
import { isSure, type Line as LineModel, type Station as StationModel } from './upstream-list.ts';
import { isResettable, isWarmable } from './upstream-actions-model.ts';
import { FaultSwitch } from './fault-switch.tsx';
import { LineRules } from './routing-rules.tsx';
import { ReadOnlyNote } from '../../ui/read-only-note.tsx';
import { Station } from './upstream-card.tsx';
import { SetupDialog } from '../setup/setup-dialog.tsx';
import { TestButton } from '../setup/test-button.tsx';
import { StationOrders } from './upstream-actions.tsx';
import { t } from '../../text/t.ts';

interface LineProps {
  readonly data: LiveData;
  readonly line: LineModel;
  readonly control: boolean;
  readonly settings: SettingsState;
  readonly actions: Control;
  readonly agent: Agent;
}

/** The track: the apps, then the upstreams in routing order. */
export function Line({ data, line, control, settings, actions, agent }: LineProps) {
  const [settingUp, setUp] = useState<UpstreamId | null>(null);
  const aimedAt = line.stations.find(({ report }) => report.id === settingUp);
  const faults = data.app.demo?.faults;
  return (
    <section className="panel line-panel" aria-labelledby="line-title">
      <h2 id="line-title" className="unseen">
        {t.overview.line.title}
      </h2>
      <div
        className="line"
        data-moving={line.totalInFlight > 0 || undefined}
        data-unsure={(line.server !== null && !isSure(line.server)) || undefined}
      >
        <div className="origin">
          <div className="track" aria-hidden="true">
            <span className="origin-mark" />
            <span className="segment" data-live={line.server !== null || undefined} />
          </div>
          <p className="origin-name">{t.overview.line.apps}</p>
        </div>
        <ol>
          {line.stations.map((station) => {
            const { id, label } = station.report;
            return (
              <Station
                key={id}
                station={station}
                tally={tallyOf(data, id)}
                machines={poolOf(station.report, data)}
                onSetUp={control ? () => setUp(id) : null}
              >
                <StationOrders
                  label={label}
                  control={control}
                  orders={ordersAt(station, data, actions)}
                >
                  {station.condition.kind !== 'missing' && (
                    <TestButton {...{ id, label, control, actions }} />
                  )}
                </StationOrders>
                {faults && (
                  <FaultSwitch
                    label={label}
                    fault={faults[id]}
                    disabled={!control}
                    onChange={(fault) => actions.setFault(id, fault)}
                  />
                )}
              </Station>
            );
          })}
        </ol>
      </div>
      {!isUnconfigured(line) && <LineRules {...{ data, line, control, settings, actions }} />}
      {faults && <DemoNote />}
      {!control && <ReadOnlyNote />}
      {aimedAt && (
        <SetupDialog
          id={aimedAt.report.id}
          label={aimedAt.report.label}
          revision={data.providers?.revision ?? null}
          localUrl={line.stations[0]?.report.baseUrl ?? null}
          {...{ agent, control, actions }}
          onClose={() => setUp(null)}
        />
      )}
    </section>
  );
}

/** The tally of requests; of calls if the gateway does not count requests. */
function tallyOf({ outcomes, status }: LiveData, id: StationModel['report']['id']): UpstreamTally {
  const { requests = 0, successes = 0 } = status.stats.perUpstream[id] ?? {};
  return outcomes?.upstreams[id] ?? { asked: requests, answered: successes, retries: 0, polls: 0 };
}

function ordersAt(station: StationModel, { status }: LiveData, actions: Control) {
  const { id } = station.report;
  const reset = { ...t.overview.line.reset, give: () => actions.resetCircuit(id) };
  const warmUp = { ...t.overview.line.warmUp, give: () => actions.warmUp() };
  return [
    ...(isResettable(station.report) ? [reset] : []),
    ...(isWarmable(station, status) ? [warmUp] : []),
  ];
}

/** The machines behind Local; null for other upstreams and if Local has an engine address. */
function poolOf({ id, baseUrl }: UpstreamReport, { providers }: LiveData): ProvidersSummary | null {
  return id === 'local' && baseUrl === null && providers?.count ? providers : null;
}

/** Says that this is the demo. */
function DemoNote() {
  return (
    <p className="line-note">
      <strong className="demo-badge">{t.overview.demo.badge}</strong>
      <span>{t.overview.demo.text}</span>
    </p>
  );
}
