import type { UpstreamId } from '#shared/ids.ts';
import type { AttemptCause, RequestRow } from '#shared/live.ts';
import type { Pass } from '../asking.ts';
import type { Failure } from '../outcome/outcomes.ts';
import {
  NEUTRAL,
  resultOf,
  type Asked,
  type AttemptLog,
  type AttemptLogDeps,
  type MutableRow,
} from './attempt-log.ts';
import { OpenAttempt, type AttemptedRequest } from './open-attempt.ts';

/** What is written down of one chat completion: who was asked and how it went, never what was said. */
export interface RequestLog {
  readonly id: string;
  startAttempt(asked: Asked, pass: Pass, cause: AttemptCause): AttemptLog;
  /** Another one's content came first; what was sent to this one is ended. */
  outrun(asked: Asked): void;
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
export class OpenRequest implements RequestLog {
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

  startAttempt(asked: Asked, pass: Pass, cause: AttemptCause): AttemptLog {
    this.#open = this.#open.filter(({ hasEnded }) => !hasEnded);
    // A further poll of an upstream that is starting goes on with the attempt that is open.
    let attempt = this.#openAt(asked);
    if (attempt === undefined) {
      attempt = new OpenAttempt(asked, { pass, cause }, this.#request, this.#deps);
      this.#open = [...this.#open, attempt];
      if (cause === 'hedge') this.#deps.stats.hedged();
    }
    attempt.sent();
    return attempt;
  }

  outrun(asked: Asked): void {
    this.#openAt(asked)?.outrun();
  }

  gaveUp(failure: Failure): void {
    const attempt = this.#openAt({ upstream: 'ondemand', provider: null });
    attempt?.end(failure.reason, resultOf(failure, { ms: 0, silentMs: 0 }), true);
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

  #openAt({ upstream, provider }: Pick<Asked, 'upstream' | 'provider'>): OpenAttempt | undefined {
    return this.#open.find(
      ({ asked }) => asked.upstream === upstream && asked.provider === provider,
    );
  }
}
