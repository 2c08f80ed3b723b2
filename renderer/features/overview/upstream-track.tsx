import type { Control } from '../../api/control.ts';
import type { UpstreamTally } from '#shared/live.ts';
import type { LiveData } from '../../api/live-data.ts';
import type { SettingsState } from '../../api/window-state.ts';
import { isBare } from './status-summary-text.ts';
import type { Line as LineModel, Station as StationModel } from './upstream-list.ts';
import { isResettable, isWarmable } from './upstream-actions-model.ts';
import { DemoNote } from './demo-note.tsx';
import { FaultSwitch } from './fault-switch.tsx';
import { LineRules } from './routing-rules.tsx';
import { ReadOnlyNote } from '../../ui/read-only-note.tsx';
import { Station } from './upstream-card.tsx';
import { StationOrders } from './upstream-actions.tsx';

interface LineProps {
  readonly data: LiveData;
  readonly line: LineModel;
  readonly control: boolean;
  readonly settings: SettingsState;
  readonly actions: Control;
}

/** The track: callers at one end, then the upstreams in routing order. */
export function Line({ data, line, control, settings, actions }: LineProps) {
  const faults = data.app.demo?.faults;
  return (
    <section className="panel line-panel" aria-labelledby="line-title">
      <h2 id="line-title" className="unseen">
        Upstreams, in the order in which requests try them
      </h2>
      <div className="line" data-moving={line.totalInFlight > 0 || undefined}>
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
                tally={tallyOf(data, id)}
                machines={id === 'local' && data.providers?.count ? data.providers : null}
              >
                <StationOrders
                  label={label}
                  control={control}
                  orders={ordersAt(station, data, actions)}
                />
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
    </section>
  );
}

/** A gateway that does not count requests counts calls. */
function tallyOf({ outcomes, status }: LiveData, id: StationModel['report']['id']): UpstreamTally {
  const { requests = 0, successes = 0 } = status.stats.perUpstream[id] ?? {};
  return outcomes?.upstreams[id] ?? { asked: requests, answered: successes, retries: 0, polls: 0 };
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
