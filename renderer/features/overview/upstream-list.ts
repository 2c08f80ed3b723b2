import { type Condition, conditionOf, isAdmitted, isSound } from '#shared/condition.ts';
import type { UpstreamReport } from '#shared/status.ts';
import type { LiveData } from '../../api/live-data.ts';

export type Flow = 'ends' | 'round' | 'through' | 'none';

export interface UpstreamView {
  readonly report: UpstreamReport;
  readonly condition: Condition;
  readonly inFlight: number;
  readonly flow: Flow;
}

/** The five upstreams in routing order. */
export interface UpstreamList {
  readonly upstreams: readonly UpstreamView[];
  /** The upstream expected to answer the next request; null if there is none. */
  readonly server: UpstreamView | null;
  readonly totalInFlight: number;
}

/** The upstreams as known, carried forward to `now`. */
export function upstreamList(data: LiveData, now: number): UpstreamList {
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
  const end = known.findIndex(({ report }) => report.id === data.next);
  const upstreams = known.map((upstream, index) => ({
    ...upstream,
    flow: flowAt(index, end, upstream.condition),
  }));
  return {
    upstreams,
    server: upstreams[end] ?? null,
    totalInFlight: known.reduce((sum, upstream) => sum + upstream.inFlight, 0),
  };
}

/** Whether the upstream has been seen to answer: only then is its rail green. */
export function isSure({ condition }: UpstreamView): boolean {
  return condition.kind !== 'untested' && isSound(condition);
}

function flowAt(index: number, end: number, condition: Condition): Flow {
  if (index > end) return 'none';
  if (index === end) return 'ends';
  // The line passes straight through an upstream that is not set up.
  return isAdmitted(condition) || condition.kind === 'missing' ? 'through' : 'round';
}
