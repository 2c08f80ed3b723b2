import type { UpstreamId } from '#shared/ids.ts';
import type { RequestRow } from '#shared/live.ts';
import type { Clock } from '../../platform/clock.ts';
import {
  callLog,
  openAttempt,
  resultOf,
  type AttemptLog,
  NEUTRAL,
  type Asked,
  type MutableRow,
  type OpenAttempt,
  type Routed,
} from './attempt-log.ts';
import type { Pass } from '../asking.ts';
import type { Circuits } from '../circuit/circuits.ts';
import type { Log } from '../../platform/log.ts';
import type { Failure } from '../outcome/outcomes.ts';
import type { Latencies } from './latencies.ts';
import type { Stats } from './stats.ts';

/** What is written down of one chat completion: who was asked and how it went, never what was said. */
export interface RequestLog {
  readonly id: string;
  startAttempt(asked: Asked, pass: Pass): AttemptLog;
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

/** Callers choose model names, and each row goes to every window. */
const MAX_MODEL_LENGTH = 200;
/** Ended requests that are kept. */
const KEPT = 100;

/** What the logs tell of changes. */
export interface LogListener {
  changed(id: string): void;
  removed(id: string): void;
}

/** Makes empty logs. */
export function createRequestLogs(
  deps: {
    readonly clock: Clock;
    readonly stats: Stats;
    readonly circuits: Circuits;
    readonly latencies: Latencies;
    readonly routed: Routed;
    readonly log: Log;
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
        model: model === null ? null : model.slice(0, MAX_MODEL_LENGTH),
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
      const request = { row, begunAt };
      let open: OpenAttempt | null = null;
      return {
        id,
        startAttempt({ upstream, provider }, pass) {
          // A further poll of an upstream that is starting goes on with the attempt that is open.
          if (open?.asked.upstream !== upstream || open.row.endMs !== null) {
            open = openAttempt({ upstream, provider }, pass, request, logDeps);
          }
          return callLog(open, request, logDeps);
        },
        gaveUp: (failure) => open?.end(failure.reason, resultOf(failure), true),
        answering(head) {
          Object.assign(row, head);
          if (head.fallbackReason !== 'none') stats.fellBack();
          listener.changed(id);
        },
        ended(state) {
          open?.end(null, NEUTRAL, true);
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
