import {
  type Condition,
  conditionAfter,
  isAdmitted,
  isLasting,
  isSound,
  type Sighting,
  type Verdict,
} from '#shared/condition.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { StatusReport, UpstreamReport } from '#shared/status.ts';
import type { LiveData } from '../../api/window-state.ts';

export type Flow = 'ends' | 'round' | 'through' | 'none';

export interface UpstreamView {
  readonly report: UpstreamReport;
  readonly condition: Condition;
  readonly inFlight: number;
  readonly flow: Flow;
  readonly waits: Waits | null;
  /** Why the last request or check failed; null if it did not. */
  readonly reason: string | null;
}

/** Calls whose answers have not begun, once the oldest has waited longer than an answer that is on its way. */
export interface Waits {
  readonly count: number;
  readonly oldestMs: number;
}

const SHOWN_FROM_MS = 3_000;

function waitsAt(id: UpstreamId, { requests, skewMs }: LiveData, now: number): Waits | null {
  const begun = requests
    .filter(({ state }) => state === 'running')
    .flatMap(({ startedAt, attempts }) =>
      attempts
        .filter(({ upstream, endMs }) => upstream === id && endMs === null)
        .flatMap(({ startMs, firstContentMs }) =>
          firstContentMs === null ? [startedAt + startMs] : [],
        ),
    );
  const oldestMs = now + skewMs - Math.min(...begun);
  return begun.length > 0 && oldestMs >= SHOWN_FROM_MS ? { count: begun.length, oldestMs } : null;
}

/** The five upstreams in the order in which requests try them. */
export interface UpstreamList {
  readonly upstreams: readonly UpstreamView[];
  readonly verdict: Verdict;
  /** The upstream that the next request is expected to end at; null if there is none. */
  readonly server: UpstreamView | null;
  readonly totalInFlight: number;
  /** Why `local` is skipped for slowness; null if it is not. */
  readonly slow: StatusReport['local']['slow'];
}

/** The gateway's judgement, carried forward to `now`. */
export function upstreamList(data: LiveData, now: number): UpstreamList {
  const { status, inFlight, judgement, sightings } = data;
  const { conditions, verdict } = judgement;
  const elapsedMs = Math.max(0, now - data.statusAt);
  const known = status.upstreams.map((report) => ({
    report,
    condition: conditionAfter(conditions[report.id], elapsedMs),
    inFlight: inFlight[report.id],
    waits: waitsAt(report.id, data, now),
    reason: failureIn(sightings[report.id]),
  }));
  const server = serverOf(verdict);
  const end = known.findIndex(({ report }) => report.id === server);
  const upstreams = known.map((upstream, index) => ({
    ...upstream,
    flow: flowAt(index, end, upstream.condition),
  }));
  return {
    upstreams,
    verdict,
    slow: status.local.slow,
    server: upstreams[end] ?? null,
    totalInFlight: known.reduce((sum, upstream) => sum + upstream.inFlight, 0),
  };
}

const failureIn = (found: Sighting): string | null =>
  found.kind === 'failed' ? found.reason : null;

function serverOf(verdict: Verdict) {
  switch (verdict.kind) {
    case 'serving':
    case 'untested':
      return verdict.by;
    case 'stuck':
      return verdict.tries;
    default:
      return null;
  }
}

export const isUnconfigured = ({ verdict }: UpstreamList): boolean => verdict.kind === 'bare';

/** Whether the upstream has been seen to answer: only then is its rail green. */
export const isSure = ({ condition }: UpstreamView): boolean =>
  condition.kind !== 'untested' && isSound(condition);

/** The first upstream that is called again after a time; null if no end is known, or only a person can end it. */
export function firstBack({ upstreams }: UpstreamList) {
  const waiting = upstreams.flatMap(({ report: { label }, condition }) => {
    if (condition.kind !== 'cooling' && condition.kind !== 'skipped') return [];
    const { kind, remainingMs } = condition;
    if (kind === 'skipped' && isLasting(condition.reason)) return [];
    // A provider says when it is back; after failures it is only tried again.
    return [{ label, remainingMs, isPromised: kind === 'skipped' }];
  });
  return waiting.toSorted((a, b) => a.remainingMs - b.remainingMs)[0] ?? null;
}

function flowAt(index: number, end: number, condition: Condition): Flow {
  if (index > end) return 'none';
  if (index === end) return 'ends';
  // The line passes straight through an upstream that is not set up.
  return isAdmitted(condition) || condition.kind === 'missing' ? 'through' : 'round';
}
