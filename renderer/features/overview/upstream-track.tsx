import { useState } from 'react';
import type { UpstreamId } from '#shared/ids.ts';
import type { Agent } from '../../api/agent.ts';
import type { Control } from '../../api/control.ts';
import type { LiveData } from '../../api/live-data.ts';
import type { SettingsState } from '../../api/window-state.ts';
import { isBare } from './status-summary-text.ts';
import { isSure, type Line as LineModel, type Station as StationModel } from './upstream-list.ts';
import { isResettable, isWarmable } from './upstream-actions-model.ts';
import { DemoNote } from './demo-note.tsx';
import { FaultSwitch } from './fault-switch.tsx';
import { LineRules } from './routing-rules.tsx';
import { ReadOnlyNote } from '../../ui/read-only-note.tsx';
import { Station } from './upstream-card.tsx';
import { SetupDialog } from '../setup/setup-dialog.tsx';
import { TestButton } from '../setup/test-button.tsx';
import { StationOrders } from './upstream-actions.tsx';

interface LineProps {
  readonly data: LiveData;
  readonly line: LineModel;
  readonly control: boolean;
  readonly settings: SettingsState;
  readonly actions: Control;
  readonly agent: Agent;
}

/** The track: callers at one end, then the upstreams in routing order. */
export function Line({ data, line, control, settings, actions, agent }: LineProps) {
  const [settingUp, setUp] = useState<UpstreamId | null>(null);
  const aimedAt = line.stations.find(({ report }) => report.id === settingUp);
  const { perUpstream } = data.status.stats;
  const faults = data.app.demo?.faults;
  return (
    <section className="panel line-panel" aria-labelledby="line-title">
      <h2 id="line-title" className="unseen">
        Upstreams, in the order in which requests try them
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
          <p className="origin-name">Your apps</p>
        </div>
        <ol>
          {line.stations.map((station) => {
            const { id, label } = station.report;
            return (
              <Station
                key={id}
                station={station}
                requests={perUpstream[id]?.requests ?? 0}
                successes={perUpstream[id]?.successes ?? 0}
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
      {!isBare(line) && <LineRules {...{ data, line, control, settings, actions }} />}
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

function ordersAt(station: StationModel, { status }: LiveData, actions: Control) {
  const { id } = station.report;
  const reset = {
    word: 'Reset',
    more: '',
    title: 'Close the circuit breaker and clear failures and exclusions: the next request tries it',
    done: 'reset; the next request tries it',
    give: () => actions.resetCircuit(id),
  };
  const warmUp = {
    word: 'Warm up',
    more: ' now',
    title: 'Start it now, so that it is ready as a fallback',
    done: 'warming up',
    give: () => actions.warmUp(),
  };
  return [
    ...(isResettable(station.report) ? [reset] : []),
    ...(isWarmable(station, status) ? [warmUp] : []),
  ];
}
