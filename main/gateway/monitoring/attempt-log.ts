import type { UpstreamId } from '#shared/ids.ts';
import type { AttemptCause, AttemptRow, RequestRow } from '#shared/live.ts';
import { type FallbackReason, OUTRUN } from '#shared/reasons.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Permit } from '../circuits/breaker.ts';
import type { HeldPermit, Circuits } from '../circuits/circuits.ts';
import type { Result } from '../circuits/transitions.ts';
import type { Permits } from '../routing/retry.ts';
import { type Prediction, slowTtftMs } from '../routing/ttft-prediction.ts';
import type { Predictions } from '../routing/ttft-predictions.ts';
import type { AnswerMode } from '../upstream/attempt.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Latencies, Stats } from './counters.ts';

/**
 * What is written down of one call to one upstream, for the window and for its circuit; exactly one
 * of the last five ends it.
 */
export interface AttemptLog {
  /** The answer goes out; its first content came at `contentAt` clock ticks (null: it came as a whole). */
  answering(contentAt: number | null): void;
  relayed(events: number): void;
  failed(failure: Failure): void;
  /** The upstream is still starting: what it said counts for nothing, and it is asked again. */
  starting(): void;
  succeeded(): void;
  /** The answer had begun and was not finished. */
  broken(detail: string): void;
  cancelled(): void;
}

/** A row that is still written. */
type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
/** A row while it is written. */
export type MutableRow = Mutable<Omit<RequestRow, 'attempts'>> & {
  attempts: Mutable<AttemptRow>[];
};

/** Whom an attempt asks. */
export interface AttemptTarget {
  readonly upstream: UpstreamId;
  /** The machine of the local tier; null elsewhere. */
  readonly provider: string | null;
  readonly promptBytes: number;
  readonly mode: AnswerMode;
}

/** Hears how a provider did with a request; refusals that blame nobody are left out. */
export type ReportProviderResult = (provider: string, result: 'served' | 'failed') => void;

/** What an attempt is written down with, and who hears of it. */
export interface AttemptLogDeps {
  readonly clock: Clock;
  readonly stats: Stats;
  readonly circuits: Circuits;
  readonly latencies: Latencies;
  readonly predictions: Predictions;
  readonly routed: ReportProviderResult;
  readonly changed: (id: string) => void;
}

/**
 * Whether an id that a call was sent to has been forgotten since: a provider that was removed. What comes
 * of the call is nobody's any more, and would bring it back.
 */
export function isRemoved(id: string, circuits: Circuits): boolean {
  return circuits.at(id).breaker.health.requests === 0;
}

/** Says nothing about an upstream's health. */
export const NEUTRAL: Result = { kind: 'neutral' };

/** How a failure counts in the circuit. */
export function circuitResultOf({ mark, reason, detail }: Failure): Result {
  return mark === 'neutral' ? NEUTRAL : { kind: 'failure', error: `${reason}: ${detail}` };
}

/** Attempts that are kept of one request; the polls of a cold start are one. */
const KEPT_ATTEMPTS = 16;

/** The request that an attempt is made for; it came in at `begunAt` clock ticks. */
export interface AttemptedRequest {
  readonly row: MutableRow;
  readonly begunAt: number;
}

/** An attempt, from its first call to its end. */
export class OpenAttempt implements AttemptLog {
  readonly target: AttemptTarget;
  readonly #permits: Permits;
  readonly #request: AttemptedRequest;
  readonly #deps: AttemptLogDeps;
  readonly #row: Mutable<AttemptRow>;
  /** Null where it is not an own machine, or too little is known of it. */
  readonly #prediction: Prediction | null;
  /** When the last call was sent, in clock ticks. */
  #sentAt = 0;

  constructor(
    target: AttemptTarget,
    { permits, cause }: { readonly permits: Permits; readonly cause: AttemptCause },
    request: AttemptedRequest,
    deps: AttemptLogDeps,
  ) {
    const { upstream, provider, promptBytes } = target;
    this.target = target;
    this.#permits = permits;
    this.#request = request;
    this.#deps = deps;
    this.#prediction =
      upstream === 'local' ? deps.predictions.at(permits.own.id, promptBytes) : null;
    const startMs = this.#sinceBegin();
    this.#row = {
      upstream,
      provider,
      cause,
      startMs,
      predictedMs: this.#prediction === null ? null : startMs + Math.round(this.#prediction.ttftMs),
      firstContentMs: null,
      endMs: null,
      reason: null,
    };
    const { attempts } = request.row;
    if (attempts.length < KEPT_ATTEMPTS) attempts.push(this.#row);
    for (const { id } of admittedBy(permits)) deps.stats.entered(id);
  }

  get hasEnded(): boolean {
    return this.#row.endMs !== null;
  }

  /** A call of it goes out; the polls of a cold start are calls of one attempt. */
  sent(): void {
    this.#sentAt = this.#deps.clock.ticks();
    this.#request.row.attemptCount += 1;
    for (const { id } of admittedBy(this.#permits)) this.#deps.circuits.sent(id);
    this.#changed();
  }

  answering(contentAt: number | null): void {
    const at = contentAt ?? this.#deps.clock.ticks();
    this.#row.firstContentMs = Math.round(at - this.#request.begunAt);
    if (this.#row.cause === 'resume') this.#deps.stats.handedOver();
    if (contentAt !== null) this.#firstContent(contentAt - this.#sentAt);
    this.#changed();
  }

  relayed(events: number): void {
    this.#request.row.events += events;
    this.#changed();
  }

  failed(failure: Failure): void {
    this.end(failure.reason, circuitResultOf(failure), false);
  }

  starting(): void {
    this.#changed();
  }

  succeeded(): void {
    const { clock, circuits, latencies } = this.#deps;
    const { provider } = this.target;
    if (provider !== null && !isRemoved(provider, circuits)) {
      latencies.sample(provider, clock.ticks() - this.#sentAt);
    }
    this.end(null, { kind: 'success' }, true);
  }

  broken(detail: string): void {
    const error = `bad_response: the stream broke off, ${detail}`;
    this.end('bad_response', { kind: 'failure', error }, true);
  }

  cancelled(): void {
    this.end(null, NEUTRAL, true);
  }

  /** Another one's content came first; it only counts that this one was slow. */
  outrun(): void {
    const { clock, circuits, predictions } = this.#deps;
    const { own } = this.#permits;
    if (this.hasEnded) return;
    // Of an answer that comes as a whole nobody knows when its content began.
    if (this.target.mode !== 'whole' && !isRemoved(own.id, circuits)) {
      const silentMs = clock.ticks() - this.#sentAt;
      const slowMs = slowTtftMs(silentMs, this.#prediction);
      circuits.outrun(own.id, own.permit, { silentMs, slowMs });
      // A hedge may have had less time than the slow line; for one whose turn it was it has gone by.
      if (this.#row.cause === 'turn') predictions.confirm(own.id);
    }
    this.end(OUTRUN, NEUTRAL, false);
  }

  /** With `forTier` the result is the whole tier's as well: nobody else of it is asked any more. */
  end(reason: FallbackReason | null, result: Result, forPool: boolean): void {
    if (this.hasEnded) return;
    const { stats, circuits, routed } = this.#deps;
    const { provider } = this.target;
    this.#row.endMs = this.#sinceBegin();
    this.#row.reason = reason;
    for (const { id } of admittedBy(this.#permits)) stats.left(id);
    for (const { id, permit } of forPool ? admittedBy(this.#permits) : [this.#permits.own]) {
      if (!isRemoved(id, circuits)) circuits.record(id, permit, result);
    }
    if (provider !== null && result.kind !== 'neutral') {
      routed(provider, result.kind === 'success' ? 'served' : 'failed');
    }
    this.#changed();
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

  #sinceBegin(): number {
    return Math.round(this.#deps.clock.ticks() - this.#request.begunAt);
  }

  #changed(): void {
    this.#deps.changed(this.#request.row.id);
  }
}

/** Everywhere that a call was let in: at the upstream, and in the local tier at the provider too. */
function admittedBy({ own, pool }: Permits): readonly HeldPermit[] {
  return pool === null ? [own] : [own, pool];
}

/** Bears on no breaker: what comes with it counts in the means alone. */
const UNJUDGED: Permit = { serial: -1 };

/**
 * With what a tier hears of first content. That it was slow is the machine's own affair, and its circuit
 * sees to it: another may be fast. But a probe must be heard of.
 */
function poolPermit({ id, permit }: HeldPermit, circuits: Circuits): Permit {
  return circuits.at(id).breaker.state.kind === 'probing' ? permit : UNJUDGED;
}
