import type { UpstreamId } from '#shared/ids.ts';
import type { RequestRow } from '#shared/live.ts';
import type { FallbackReason } from '#shared/reasons.ts';
import type { Clock } from '../platform/clock.ts';
import { startAttempt, type AttemptLog, type MutableRow } from './attempt-log.ts';
import type { Log } from '../platform/log.ts';
import type { Failure } from './outcomes.ts';
import type { Stats } from './stats.ts';

/** What is written down of one chat completion: who was asked and how it went, never what was said. */
export interface RequestLog {
  readonly id: string;
  startAttempt(upstream: UpstreamId): AttemptLog;
  /** The time of `ondemand` went by in polls that each counted for nothing. */
  gaveUp(failure: Failure): void;
  /** The answer's head goes out. */
  answering(head: {
    readonly status: number;
    readonly upstream: UpstreamId | null;
    readonly fallbackReason: string;
  }): void;
  ended(state: Exclude<RequestRow['state'], 'running'>): void;
}

/** All requests that are under way, and the last ones that ended. */
export interface RequestLogs {
  begin(about: {
    readonly id: string;
    readonly model: string | null;
    readonly stream: boolean;
  }): RequestLog;
  /** Newest first. */
  rows(): RequestRow[];
}

/** Ended requests that are kept. */
const KEPT = 100;

/** What the logs tell of changes. */
export interface LogListener {
  changed(id: string): void;
  removed(id: string): void;
}

/** Makes empty logs. `slowAfterMs` is asked at each first content. */
export function createRequestLogs(
  deps: {
    readonly clock: Clock;
    readonly stats: Stats;
    readonly log: Log;
    readonly slowAfterMs: () => number;
  },
  listener: LogListener,
): RequestLogs {
  const { clock, stats } = deps;
  const logDeps = { ...deps, changed: (id: string) => listener.changed(id) };
  const rows = new Map<string, MutableRow>();
  const ended: string[] = [];

  function forgetOldest(): void {
    if (ended.length <= KEPT) return;
    const oldest = ended.shift();
    if (oldest === undefined) return;
    rows.delete(oldest);
    listener.removed(oldest);
  }

  function writeLine({ id, state, upstream, status, fallbackReason, endMs }: MutableRow): void {
    const isNews = state !== 'done' || fallbackReason !== 'none';
    const fields = { id, state, upstream, status, fallbackReason, ms: endMs };
    deps.log(isNews ? 'info' : 'debug', 'request', fields);
  }

  return {
    begin({ id, model, stream }) {
      const begunAt = clock.ticks();
      const row: MutableRow = {
        id,
        startedAt: clock.now(),
        model,
        stream,
        state: 'running',
        upstream: null,
        status: null,
        fallbackReason: 'none',
        events: 0,
        endMs: null,
        attempts: [],
        attemptCount: 0,
      };
      rows.set(id, row);
      stats.accepted();
      listener.changed(id);
      const closeOpen = (reason: FallbackReason | null) => {
        for (const attempt of row.attempts.filter(({ endMs }) => endMs === null)) {
          attempt.endMs = Math.round(clock.ticks() - begunAt);
          attempt.reason = reason;
          stats.left(attempt.upstream);
        }
      };
      return {
        id,
        startAttempt: (upstream) => startAttempt(upstream, row, begunAt, logDeps),
        gaveUp(failure) {
          stats.failed('ondemand', `${failure.reason}: ${failure.detail}`);
          closeOpen(failure.reason);
        },
        answering(head) {
          Object.assign(row, head);
          if (head.fallbackReason !== 'none') stats.fellBack();
          listener.changed(id);
        },
        ended(state) {
          closeOpen(null);
          row.state = state;
          row.endMs = Math.round(clock.ticks() - begunAt);
          ended.push(id);
          writeLine(row);
          listener.changed(id);
          forgetOldest();
        },
      };
    },
    rows: () => [...rows.values()].toReversed(),
  };
}
