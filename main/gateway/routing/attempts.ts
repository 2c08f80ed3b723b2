import type { AttemptCause } from '#shared/live.ts';
import { type FallbackReason, OUTRUN } from '#shared/reasons.ts';
import type { Tokens } from '#shared/usage.ts';
import { type Clock, type DualTime, dualTimeOf } from '../../platform/clock.ts';
import { circuitResultOf, NEUTRAL, type Permit, type Result } from '../circuits/breaker.ts';
import { type Circuits, type HeldPermit, isRemoved } from '../circuits/circuits.ts';
import { type Failure, isUnexplainedRefusal } from '../upstream/failure.ts';
import { estimatedTokens } from '../upstream/usage.ts';
import type { EngineCall } from './hung-engines.ts';
import type { AttemptEnd, AttemptObserver, AttemptTarget, RequestObserver } from './observer.ts';
import { type Predictions, type Prediction, slowTtftMs } from './ttft-predictions.ts';

/** The permits that a call's result is recorded under. */
export interface Permits {
  /** The upstream's; in the local pool the machine's. */
  readonly own: HeldPermit;
  /** The local pool's: its circuit counts the request once, whichever machines are called. */
  readonly pool: HeldPermit | null;
}

export interface AttemptDeps {
  readonly clock: Clock;
  readonly circuits: Circuits;
  readonly predictions: Predictions;
}

/**
 * The attempts of one request. Each result is recorded in the circuits and the predictions first; then the
 * observer is notified.
 */
export class RequestAttempts {
  readonly #observer: RequestObserver;
  readonly #deps: AttemptDeps;
  /** Running attempts: at most two, a first call and a hedged one. */
  #open: readonly Attempt[] = [];

  constructor(observer: RequestObserver, deps: AttemptDeps) {
    this.#observer = observer;
    this.#deps = deps;
  }

  /** The header of the next call to `target`; null leaves the caller's as it is. */
  traceparent(target: AttemptTarget): string | null {
    const open = this.#open.find((attempt) => !attempt.hasEnded && attempt.isAt(target));
    return (open?.observer ?? this.#observer).traceparent?.() ?? null;
  }

  /** To be called when a call was sent; a further poll of a starting upstream belongs to its open attempt. */
  called(
    target: AttemptTarget,
    permits: Permits,
    cause: AttemptCause,
    { engineCall, sentAt: calledAt, hasLeft }: CallFacts,
  ): Attempt {
    this.#open = this.#open.filter(({ hasEnded }) => !hasEnded);
    const open = this.#openAt(target);
    if (open !== undefined) {
      open.polled(calledAt, hasLeft);
      return open;
    }
    const start = { target, permits, cause, engineCall, hasLeft, calledAt };
    const attempt = new Attempt(start, this.#observer, this.#deps);
    this.#open = [...this.#open, attempt];
    return attempt;
  }

  /** Another call's content came first; the caller of this method aborts the call. */
  hedgeLost(target: AttemptTarget): void {
    this.#openAt(target)?.hedgeLost();
  }

  /** `ondemand` did not start within its time-out; its polls were not recorded one by one. */
  gaveUp(failure: Failure): void {
    const attempt = this.#openAt({ upstream: 'ondemand', provider: null });
    attempt?.end(failure.reason, circuitResultOf(failure), true, { error: failure.detail });
  }

  /** Ends running attempts without a verdict when the request is over. */
  close(): void {
    for (const attempt of this.#open) attempt.end(null, NEUTRAL, true);
  }

  #openAt(target: Pick<AttemptTarget, 'upstream' | 'provider'>): Attempt | undefined {
    return this.#open.find((attempt) => attempt.isAt(target));
  }
}

interface CallFacts {
  /** In clock ticks. */
  readonly sentAt: number;
  /** Null if no engine's silence is watched. */
  readonly engineCall: EngineCall | null;
  /** False while it is certain that the upstream knows nothing of the call. */
  readonly hasLeft: () => boolean;
}

/** Ended by the first of `failed`, `succeeded`, `broken`, `cancelled`, `hedgeLost` and `end`; later ones are ignored. */
export class Attempt {
  readonly target: AttemptTarget;
  readonly observer: AttemptObserver;
  readonly #permits: Permits;
  readonly #cause: AttemptCause;
  readonly #engineCall: EngineCall | null;
  readonly #deps: AttemptDeps;
  /** Null for hosted upstreams, and below the samples that a prediction needs. */
  readonly #prediction: Prediction | null;
  /** When the last call was sent, in clock ticks. */
  #calledAt: number;
  #wasPolled = false;
  #hasLeft: () => boolean;
  #hasEnded = false;
  #tokens: Tokens | null = null;

  constructor(
    start: {
      readonly target: AttemptTarget;
      readonly permits: Permits;
      readonly cause: AttemptCause;
      readonly calledAt: number;
    } & Omit<CallFacts, 'sentAt'>,
    observer: RequestObserver,
    deps: AttemptDeps,
  ) {
    const { target, permits, cause, engineCall, hasLeft, calledAt } = start;
    this.target = target;
    this.#permits = permits;
    this.#cause = cause;
    this.#engineCall = engineCall;
    this.#hasLeft = hasLeft;
    this.#calledAt = calledAt;
    this.#deps = deps;
    this.#prediction =
      target.upstream === 'local' ? deps.predictions.at(permits.own.id, target.promptBytes) : null;
    const ids = heldBy(permits).map(({ id }) => id);
    this.observer = observer.attemptStarted({
      target,
      cause,
      startedAt: calledAt,
      ids,
      predictedTtftMs: this.#prediction?.ttftMs ?? null,
      circuit: deps.circuits.at(permits.own.id).breaker.state.kind,
    });
    for (const id of ids) deps.circuits.sent(id);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Of the upstream, or in the local pool of the machine. */
  get id(): string {
    return this.#permits.own.id;
  }

  isAt({ upstream, provider }: Pick<AttemptTarget, 'upstream' | 'provider'>): boolean {
    return this.target.upstream === upstream && this.target.provider === provider;
  }

  /** Called once more, as it is still starting. */
  polled(calledAt: number, hasLeft: () => boolean): void {
    this.#hasLeft = hasLeft;
    this.#calledAt = calledAt;
    this.#wasPolled = true;
    this.observer.polled();
  }

  /** The answer is being sent; first content came at `contentAt` clock ticks (null: it came as a whole). */
  answering(contentAt: number | null): void {
    this.#engineCall?.content();
    // The request must not stay in memory for as long as the answer goes on.
    this.#hasLeft = () => true;
    this.observer.answering(contentAt);
    if (contentAt !== null) this.#firstContent(contentAt - this.#calledAt);
  }

  /** To be called before the end. */
  used(tokens: Tokens | null): void {
    this.#tokens = tokens;
  }

  /** `wasSilent`: it timed out without any content; `error` may be shown. */
  failed(
    failure: Failure,
    {
      wasSilent,
      ...shown
    }: { readonly wasSilent: boolean } & Pick<AttemptEnd, 'error' | 'endedAt'>,
  ): void {
    const { endedAt } = shown;
    const ms = endedAt.ticks - this.#calledAt;
    // The time to first token of an answer that comes as a whole is unknown.
    const isSlow = wasSilent && this.target.mode !== 'whole';
    const silentMs = isSlow ? slowTtftMs(ms, this.#prediction) : 0;
    const result = circuitResultOf(failure, { ms, silentMs });
    // The circuit must not open for callers' bad requests; whether they were, the registry finds out.
    const verdict = isUnexplainedRefusal(failure) ? 'failed' : VERDICTS[result.kind];
    this.end(failure.reason, result, false, { verdict, ...shown });
  }

  succeeded(): void {
    this.end(null, { kind: 'success' }, true);
  }

  /** The answer broke off after its first content; `failure` is what the upstream said of it, if that means something. */
  broken(detail: string, failure: Failure | null = null): void {
    const said = `the stream broke off, ${detail}`;
    if (failure?.mark === 'neutral') {
      this.end(failure.reason, NEUTRAL, true, { verdict: 'failed', error: said });
      return;
    }
    const error = `bad_response: ${said}`;
    const costMs = Number.POSITIVE_INFINITY;
    this.end('bad_response', { kind: 'failure', error, silentMs: 0, costMs }, true, {
      error: said,
    });
  }

  cancelled(): void {
    this.end(null, NEUTRAL, true, { isRecalled: this.#isRecalled() });
  }

  /** Counts as slow and as nothing else: how the call would have ended is unknown. */
  hedgeLost(): void {
    const { clock, circuits, predictions } = this.#deps;
    const { own } = this.#permits;
    if (this.#hasEnded) return;
    const isRecalled = this.#isRecalled();
    // Its prompt was read, and is paid for, although nothing of the answer came.
    if (!isRecalled) this.#tokens ??= estimatedTokens(this.target.promptBytes, 0);
    // The time to first token of an answer that comes as a whole is unknown.
    if (this.target.mode !== 'whole' && !isRemoved(own.id, circuits)) {
      const silentMs = clock.ticks() - this.#calledAt;
      const slowMs = slowTtftMs(silentMs, this.#prediction);
      circuits.hedgeLost(own.id, own.permit, { silentMs, slowMs });
      // Only a first call has had all of the hedge delay.
      if (this.#cause === 'turn') predictions.confirm(own.id);
    }
    this.end(OUTRUN, NEUTRAL, false, { isRecalled });
  }

  /** `forPool`: the result is the pool's as well, as no other machine will be called. */
  end(
    reason: FallbackReason | null,
    result: Result,
    forPool: boolean,
    {
      verdict = VERDICTS[result.kind],
      error = null,
      isRecalled = false,
      endedAt,
    }: Partial<Pick<AttemptEnd, 'verdict' | 'error' | 'isRecalled' | 'endedAt'>> = {},
  ): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#engineCall?.ended();
    const { circuits, clock } = this.#deps;
    const { own } = this.#permits;
    const at: DualTime = endedAt ?? dualTimeOf(clock);
    const isServed = result.kind === 'success' && !isRemoved(own.id, circuits);
    for (const { id, permit } of forPool ? heldBy(this.#permits) : [own]) {
      if (!isRemoved(id, circuits)) circuits.record(id, permit, result, at);
    }
    this.observer.ended({
      reason,
      error,
      circuit: circuits.at(own.id).breaker.state.kind,
      verdict,
      endedAt: at,
      latencyMs: isServed ? at.ticks - this.#calledAt : null,
      tokens: this.#tokens,
      isRecalled,
    });
  }

  #isRecalled(): boolean {
    return !this.#wasPolled && !this.#hasLeft();
  }

  #firstContent(ttftMs: number): void {
    const { circuits, predictions } = this.#deps;
    const { own, pool } = this.#permits;
    const { upstream, promptBytes } = this.target;
    if (!isRemoved(own.id, circuits)) {
      const slowMs = slowTtftMs(ttftMs, this.#prediction);
      circuits.firstContent(own.id, own.permit, { ttftMs, slowMs });
      if (upstream === 'local') predictions.sample(own.id, promptBytes, ttftMs);
    }
    if (pool === null) return;
    circuits.firstContent(pool.id, poolPermit(pool, circuits), { ttftMs, slowMs: ttftMs });
  }
}

const VERDICTS = { success: 'served', failure: 'failed', neutral: 'neutral' } as const;

function heldBy({ own, pool }: Permits): readonly HeldPermit[] {
  return pool === null ? [own] : [own, pool];
}

/** Matches no breaker state, so only the averages are updated. */
const UNJUDGED: Permit = { serial: -1 };

/**
 * The permit under which the pool records first content. A slow machine counts in its own circuit only, as
 * another may be fast; but the pool's probe is kept alive by it.
 */
function poolPermit({ id, permit }: HeldPermit, circuits: Circuits): Permit {
  return circuits.at(id).breaker.state.kind === 'probing' ? permit : UNJUDGED;
}
