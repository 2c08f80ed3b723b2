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

/** The five upstreams in routing order. */
export interface Line {
  readonly stations: readonly Station[];
  /** The upstream expected to answer the next request; null if there is none. */
  readonly server: Station | null;
  readonly totalInFlight: number;
}

/** The line as known, carried forward to `now`. */
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

const NOT_FAILING: ReadonlySet<Condition['kind']> = new Set(['closed', 'on-demand', 'untested']);

/** The first upstream not known to fail, otherwise the first that may be tried; -1 if there is none. */
function serverIndex(conditions: readonly Condition[]): number {
  const sound = conditions.findIndex(({ kind }) => NOT_FAILING.has(kind));
  return sound >= 0 ? sound : conditions.findIndex(isAdmitted);
}

/** Whether the upstream has been seen to answer: only then is its rail green. */
export function isSure({ condition }: Station): boolean {
  return condition.kind !== 'untested' && NOT_FAILING.has(condition.kind);
}

function flowAt(index: number, end: number, condition: Condition): Flow {
  if (index > end) return 'none';
  if (index === end) return 'ends';
  // The line passes straight through an upstream that is not set up.
  return isAdmitted(condition) || condition.kind === 'missing' ? 'through' : 'round';
}
