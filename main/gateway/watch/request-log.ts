import type { RequestRow } from '#shared/live.ts';
import type { Log } from '../../platform/log.ts';
import type { AttemptLogDeps, MutableRow } from './attempt-log.ts';
import { OpenRequest, type RequestLog } from './open-request.ts';

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
  given: Omit<AttemptLogDeps, 'changed'> & { readonly log: Log },
  listener: LogListener,
): RequestLogs {
  const { clock, stats, log } = given;
  const deps = { ...given, changed: (id: string) => listener.changed(id) };
  const rows = new Map<string, MutableRow>();
  const ended: string[] = [];

  function onEnd(row: MutableRow): void {
    ended.push(row.id);
    writeLine(row, log);
    listener.changed(row.id);
    const oldest = ended.length > KEPT ? ended.shift() : undefined;
    if (oldest === undefined) return;
    rows.delete(oldest);
    listener.removed(oldest);
  }

  return {
    begin({ id, model, stream }) {
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
      return new OpenRequest(row, deps, onEnd);
    },
    rows: () => [...rows.values()].toReversed(),
  };
}

function writeLine(
  { id, state, upstream, status, fallbackReason, endMs }: MutableRow,
  log: Log,
): void {
  const isNews = state !== 'done' || fallbackReason !== 'none';
  log(isNews ? 'info' : 'debug', 'request', {
    id,
    state,
    upstream,
    status,
    fallbackReason,
    ms: endMs,
  });
}
