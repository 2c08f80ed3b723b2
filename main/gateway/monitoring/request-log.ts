import type { UpstreamId } from '#shared/ids.ts';
import type { AttemptCause, RequestRow } from '#shared/live.ts';
import type { Log } from '../../platform/log.ts';
import type { Permits } from '../routing/retry.ts';
import type { Failure } from '../upstream/failure.ts';
import {
  type AttemptTarget,
  type AttemptedRequest,
  type AttemptLog,
  type AttemptLogDeps,
  type MutableRow,
  NEUTRAL,
  OpenAttempt,
  circuitResultOf,
} from './attempt-log.ts';

/** What is written down of one chat completion: who was asked and how it went, never what was said. */
export interface RequestLog {
  readonly id: string;
  startAttempt(target: AttemptTarget, permits: Permits, cause: AttemptCause): AttemptLog;
  /** Another one's content came first; what was sent to this one is ended. */
  outrun(target: AttemptTarget): void;
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

/** A request that is under way; `onEnd` hears once its row is whole. */
class OpenRequest implements RequestLog {
  readonly #request: AttemptedRequest;
  readonly #deps: AttemptLogDeps;
  readonly #onEnd: (row: MutableRow) => void;
  /** Two at most are under way at once. */
  #open: readonly OpenAttempt[] = [];

  constructor(row: MutableRow, deps: AttemptLogDeps, onEnd: (row: MutableRow) => void) {
    this.#request = { row, begunAt: deps.clock.ticks() };
    this.#deps = deps;
    this.#onEnd = onEnd;
  }

  get id(): string {
    return this.#request.row.id;
  }

  startAttempt(target: AttemptTarget, permits: Permits, cause: AttemptCause): AttemptLog {
    this.#open = this.#open.filter(({ hasEnded }) => !hasEnded);
    // A further poll of an upstream that is starting goes on with the attempt that is open.
    let attempt = this.#openAt(target);
    if (attempt === undefined) {
      attempt = new OpenAttempt(target, { permits, cause }, this.#request, this.#deps);
      this.#open = [...this.#open, attempt];
      if (cause === 'hedge') this.#deps.stats.hedged();
    }
    attempt.sent();
    return attempt;
  }

  outrun(target: AttemptTarget): void {
    this.#openAt(target)?.outrun();
  }

  gaveUp(failure: Failure): void {
    const attempt = this.#openAt({ upstream: 'ondemand', provider: null });
    attempt?.end(failure.reason, circuitResultOf(failure), true);
  }

  answering(head: Parameters<RequestLog['answering']>[0]): void {
    Object.assign(this.#request.row, head);
    if (head.fallbackReason !== 'none') this.#deps.stats.fellBack();
    this.#deps.changed(this.id);
  }

  ended(state: Exclude<RequestRow['state'], 'running'>): void {
    for (const attempt of this.#open) attempt.end(null, NEUTRAL, true);
    const { row, begunAt } = this.#request;
    row.state = state;
    row.endMs = Math.round(this.#deps.clock.ticks() - begunAt);
    this.#onEnd(row);
  }

  #openAt({
    upstream,
    provider,
  }: Pick<AttemptTarget, 'upstream' | 'provider'>): OpenAttempt | undefined {
    return this.#open.find(
      ({ target }) => target.upstream === upstream && target.provider === provider,
    );
  }
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
interface LogListener {
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
