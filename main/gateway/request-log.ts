import type { UpstreamId } from '#shared/ids.ts';
import type { RequestRow } from '#shared/live.ts';
import type { Clock } from '../platform/clock.ts';
import { startAttempt, type AttemptLog, type MutableRow } from './attempt-log.ts';
import type { Failure } from './outcomes.ts';
import type { Stats } from './stats.ts';

/** What is written down of one chat completion: who was asked and how it went, never what was said. */
export interface RequestLog {
  readonly id: string;
  startAttempt(upstream: UpstreamId): AttemptLog;
  /** An upstream's whole time went by in attempts that each counted for nothing. */
  gaveUp(upstream: UpstreamId, failure: Failure): void;
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
  deps: { readonly clock: Clock; readonly stats: Stats; readonly slowAfterMs: () => number },
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
      return {
        id,
        startAttempt: (upstream) => startAttempt(upstream, row, begunAt, logDeps),
        gaveUp: (upstream, { reason, detail }) => stats.failed(upstream, `${reason}: ${detail}`),
        answering(head) {
          Object.assign(row, head);
          if (head.fallbackReason !== 'none') stats.fellBack();
          listener.changed(id);
        },
        ended(state) {
          row.state = state;
          row.endMs = Math.round(clock.ticks() - begunAt);
          ended.push(id);
          listener.changed(id);
          forgetOldest();
        },
      };
    },
    rows: () => [...rows.values()].toReversed(),
  };
}
