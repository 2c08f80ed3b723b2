import type { AttemptCause, AttemptRow } from '#shared/live.ts';
import { OUTRUN, type FallbackReason } from '#shared/reasons.ts';
import type { Pass } from '../asking.ts';
import type { Ticket } from '../circuit/breaker.ts';
import type { Admitted, Circuits } from '../circuit/circuits.ts';
import type { Result } from '../circuit/results.ts';
import type { Prediction } from '../local/prediction.ts';
import { slowTtftMs } from '../local/slow.ts';
import type { Failure } from '../outcome/outcomes.ts';
import {
  isForgotten,
  NEUTRAL,
  resultOf,
  type Asked,
  type AttemptLog,
  type AttemptLogDeps,
  type Mutable,
  type MutableRow,
} from './attempt-log.ts';

/** Attempts that are kept of one request; the polls of a cold start are one. */
const KEPT_ATTEMPTS = 16;

/** The request that an attempt is made for; it came in at `begunAt` clock ticks. */
export interface AttemptedRequest {
  readonly row: MutableRow;
  readonly begunAt: number;
}

/** An attempt, from its first call to its end. */
export class OpenAttempt implements AttemptLog {
  readonly asked: Asked;
  readonly #pass: Pass;
  readonly #request: AttemptedRequest;
  readonly #deps: AttemptLogDeps;
  readonly #row: Mutable<AttemptRow>;
  /** Null where it is not an own machine, or too little is known of it. */
  readonly #prediction: Prediction | null;
  /** When the last call was sent, in clock ticks. */
  #sentAt = 0;

  constructor(
    asked: Asked,
    { pass, cause }: { readonly pass: Pass; readonly cause: AttemptCause },
    request: AttemptedRequest,
    deps: AttemptLogDeps,
  ) {
    const { upstream, provider, promptBytes } = asked;
    this.asked = asked;
    this.#pass = pass;
    this.#request = request;
    this.#deps = deps;
    this.#prediction = upstream === 'local' ? deps.predictions.at(pass.own.id, promptBytes) : null;
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
    for (const { id } of admittedBy(pass)) deps.stats.entered(id);
  }

  get hasEnded(): boolean {
    return this.#row.endMs !== null;
  }

  /** A call of it goes out; the polls of a cold start are calls of one attempt. */
  sent(): void {
    this.#sentAt = this.#deps.clock.ticks();
    this.#request.row.attemptCount += 1;
    for (const { id } of admittedBy(this.#pass)) this.#deps.circuits.sent(id);
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

  failed(failure: Failure, wasSilent: boolean): void {
    const ms = this.#deps.clock.ticks() - this.#sentAt;
    // Of an answer that comes as a whole nobody knows when its content began.
    const isSlow = wasSilent && this.asked.mode !== 'whole';
    const silentMs = isSlow ? slowTtftMs(ms, this.#prediction) : 0;
    this.end(failure.reason, resultOf(failure, { ms, silentMs }), false);
  }

  starting(): void {
    this.#changed();
  }

  succeeded(): void {
    const { clock, circuits, latencies } = this.#deps;
    const { provider } = this.asked;
    if (provider !== null && !isForgotten(provider, circuits)) {
      latencies.sample(provider, clock.ticks() - this.#sentAt);
    }
    this.end(null, { kind: 'success' }, true);
  }

  broken(detail: string): void {
    const error = `bad_response: the stream broke off, ${detail}`;
    this.end(
      'bad_response',
      { kind: 'failure', error, silentMs: 0, costMs: Number.POSITIVE_INFINITY },
      true,
    );
  }

  cancelled(): void {
    this.end(null, NEUTRAL, true);
  }

  /** Another one's content came first; it only counts that this one was slow. */
  outrun(): void {
    const { clock, circuits, predictions } = this.#deps;
    const { own } = this.#pass;
    if (this.hasEnded) return;
    // Of an answer that comes as a whole nobody knows when its content began.
    if (this.asked.mode !== 'whole' && !isForgotten(own.id, circuits)) {
      const silentMs = clock.ticks() - this.#sentAt;
      const slowMs = slowTtftMs(silentMs, this.#prediction);
      circuits.outrun(own.id, own.ticket, { silentMs, slowMs });
      // A hedge may have had less time than the slow line; for one whose turn it was it has gone by.
      if (this.#row.cause === 'turn') predictions.confirm(own.id);
    }
    this.end(OUTRUN, NEUTRAL, false);
  }

  /** With `forTier` the result is the whole tier's as well: nobody else of it is asked any more. */
  end(reason: FallbackReason | null, result: Result, forTier: boolean): void {
    if (this.hasEnded) return;
    const { stats, circuits, routed } = this.#deps;
    const { provider } = this.asked;
    this.#row.endMs = this.#sinceBegin();
    this.#row.reason = reason;
    for (const { id } of admittedBy(this.#pass)) stats.left(id);
    for (const { id, ticket } of forTier ? admittedBy(this.#pass) : [this.#pass.own]) {
      if (!isForgotten(id, circuits)) circuits.record(id, ticket, result);
    }
    if (provider !== null && result.kind !== 'neutral') {
      routed(provider, result.kind === 'success' ? 'served' : 'failed');
    }
    this.#changed();
  }

  #firstContent(ttftMs: number): void {
    const { circuits, predictions } = this.#deps;
    const { own, tier } = this.#pass;
    const { upstream, promptBytes } = this.asked;
    if (!isForgotten(own.id, circuits)) {
      const slowMs = slowTtftMs(ttftMs, this.#prediction);
      circuits.firstContent(own.id, own.ticket, { ttftMs, slowMs });
      if (upstream === 'local') predictions.sample(own.id, promptBytes, ttftMs);
    }
    if (tier === null) return;
    circuits.firstContent(tier.id, tierTicket(tier, circuits), { ttftMs, slowMs: ttftMs });
  }

  #sinceBegin(): number {
    return Math.round(this.#deps.clock.ticks() - this.#request.begunAt);
  }

  #changed(): void {
    this.#deps.changed(this.#request.row.id);
  }
}

/** Everywhere that a call was let in: at the upstream, and in the local tier at the provider too. */
function admittedBy({ own, tier }: Pass): readonly Admitted[] {
  return tier === null ? [own] : [own, tier];
}

/** Bears on no breaker: what comes with it counts in the means alone. */
const UNJUDGED: Ticket = { serial: -1 };

/**
 * With what a tier hears of first content. That it was slow is the machine's own affair, and its circuit
 * sees to it: another may be fast. But a probe must be heard of.
 */
function tierTicket({ id, ticket }: Admitted, circuits: Circuits): Ticket {
  return circuits.at(id).breaker.gate.kind === 'probing' ? ticket : UNJUDGED;
}
