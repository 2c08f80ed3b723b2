import type { DemoFault } from '#shared/live.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { LiveData } from '../data/live-data.ts';
import type { Line as LineModel } from '../model/line.ts';
import { DemoNote, type SetFault } from './demo-note.tsx';
import { FaultSwitch } from './fault-switch.tsx';
import { Station } from './station.tsx';

interface LineProps {
  readonly data: LiveData;
  readonly line: LineModel;
  readonly control: boolean;
  readonly onFault: SetFault;
}

/** The track: callers at one end, then the upstreams in the order in which they are asked. */
export function Line({ data, line, control, onFault }: LineProps) {
  const { perUpstream } = data.status.stats;
  const faults = data.app.demo?.faults;
  return (
    <section className="panel line-panel" aria-labelledby="line-title">
      <h2 id="line-title" className="unseen">
        Upstreams, in the order in which a request asks them
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
                requests={perUpstream[id]?.requests ?? 0}
                successes={perUpstream[id]?.successes ?? 0}
              >
                {faults && (
                  <FaultSwitch
                    label={label}
                    fault={faults[id]}
                    disabled={!control}
                    onChange={(fault: DemoFault) => onFault(id satisfies UpstreamId, fault)}
                  />
                )}
              </Station>
            );
          })}
        </ol>
      </div>
      {faults && <DemoNote control={control} />}
    </section>
  );
}
