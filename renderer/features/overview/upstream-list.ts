import type { UpstreamReport } from '#shared/status.ts';
import type { LiveData } from '../../api/live-data.ts';
import { conditionOf, isAdmitted, type Condition } from './condition.ts';

export type Flow = 'ends' | 'round' | 'through' | 'none';

export interface Station {
  readonly report: UpstreamReport;
  readonly condition: Condition;
  readonly inFlight: number;
  readonly flow: Flow;
}

/** The five upstreams in the order in which a request asks them. */
export interface Line {
  readonly stations: readonly Station[];
  /** Expected to answer the next request; null when no upstream would. */
  readonly server: Station | null;
  readonly totalInFlight: number;
}

/** Derives the line from what is known, carried forward to `now`. */
export function lineOf(data: LiveData, now: number): Line {
  const { status, inFlight, sightings } = data;
  const context = {
    status,
    elapsedMs: Math.max(0, now - data.statusAt),
    serverNow: now + data.skewMs,
  };
  const known = status.upstreams.map((report) => ({
    report,
    condition: conditionOf(report, { ...context, sighting: sightings[report.id] }),
    inFlight: inFlight[report.id],
  }));
  const end = serverIndex(known.map(({ condition }) => condition));
  const stations = known.map((station, index) => ({
    ...station,
    flow: flowAt(index, end, station.condition),
  }));
  return {
    stations,
    server: stations[end] ?? null,
    totalInFlight: known.reduce((sum, station) => sum + station.inFlight, 0),
  };
}

const SOUND: ReadonlySet<Condition['kind']> = new Set(['closed', 'on-demand', 'untested']);

/** First the ones not known to fail, then the ones worth a try; -1 when there is none. */
function serverIndex(conditions: readonly Condition[]): number {
  const sound = conditions.findIndex(({ kind }) => SOUND.has(kind));
  return sound >= 0 ? sound : conditions.findIndex(isAdmitted);
}

/** Whether the one expected to answer has been seen to: only then is its rail green. */
export function isSure({ condition }: Station): boolean {
  return condition.kind !== 'untested' && SOUND.has(condition.kind);
}

function flowAt(index: number, end: number, condition: Condition): Flow {
  if (index > end) return 'none';
  if (index === end) return 'ends';
  // One that is not set up is a planned station: the line passes it as if it were not there.
  return isAdmitted(condition) || condition.kind === 'missing' ? 'through' : 'round';
}
