import type { AttemptCause } from '#shared/live.ts';
import { OUTRUN } from '#shared/reasons.ts';
import type { Tokens } from '#shared/usage.ts';
import { type Clock, dualTimeOf } from '../../platform/clock.ts';
import { circuitResultOf, NEUTRAL, type Result } from '../circuits/breaker.ts';
import type { CircuitPermit, Circuits } from '../circuits/circuits.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { PendingCall } from '../upstream/exchange.ts';
import { type Failure, isUnexplainedRefusal } from '../upstream/failure.ts';
import { estimatedTokens } from '../protocols/usage.ts';
import type { AttemptEnd, AttemptObserver, RequestObserver } from './observer.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import { learnReading, notePrompt } from './readings.ts';
import { type Cut, noteLength } from './windows.ts';

export interface Permits {
  /** The upstream's; in the local pool the machine's. */
  readonly own: CircuitPermit;
  /** The local pool's: its circuit counts the request once, whichever machines are called. */
  readonly pool: CircuitPermit | null;
}

export interface AttemptDeps {
  readonly clock: Clock;
  readonly circuits: Circuits;
  readonly memory: Memory;
}

export type CallEnd =
  | { readonly kind: 'served' }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      /** What went wrong, in words that may be shown. */
      readonly error: string;
      /** It timed out without any content. */
      readonly wasSilent: boolean;
    }
  /** It broke after its first content; `failure` is what the upstream said of it, if that means something. */
  | { readonly kind: 'broken'; readonly detail: string; readonly failure: Failure | null }
  | { readonly kind: 'cancelled' }
  /** Another call's content came first. To be told before the call is aborted. */
  | { readonly kind: 'outrun' };

interface AttemptStart {
  readonly target: UpstreamCall;
  readonly permits: Permits;
  readonly cause: AttemptCause;
  readonly sending: Sending;
}

type Sending = Pick<PendingCall, 'sentAt' | 'hasLeft'>;

/**
 * A call from its sending to its one end, which is recorded in the circuits first; then the
 * observer is notified. Later ends are ignored.
 */
export class Attempt {
  readonly target: UpstreamCall;
  readonly observer: AttemptObserver;
  readonly #permits: Permits;
  readonly #deps: AttemptDeps;
  readonly #known: Knowledge;
  /** When the last call was sent, in clock ticks. */
  #sentAt: number;
  /** As it was first sent; null once it was sent again, or its answer is being sent. */
  #first: Sending | null;
  hasEnded = false;
  #ttftMs: number | null = null;
  #tokens: Tokens | null = null;
  /** Whether the engine has read only a part of the prompt, as far as it tells. */
  #cut: Cut | null = null;
  /** Tool calls that the answer had as text. */
  repairedCalls = 0;

  constructor(
    { target, permits, cause, sending }: AttemptStart,
    observer: RequestObserver,
    deps: AttemptDeps,
  ) {
    const { own, pool } = permits;
    this.target = target;
    this.#permits = permits;
    this.#sentAt = sending.sentAt;
    this.#first = sending;
    this.#deps = deps;
    this.#known = deps.memory.of(own.id);
    const ids = pool === null ? [own.id] : [own.id, pool.id];
    const circuit = deps.circuits.at(own.id).breaker.state.kind;
    const startedAt = sending.sentAt;
    this.observer = observer.attemptStarted({ target, cause, startedAt, ids, circuit });
    for (const id of ids) deps.circuits.sent(id);
  }

  /** It was sent once more: changed, as the upstream asked for it, or because that is still starting. */
  sentAgain({ sentAt }: Sending): void {
    this.#sentAt = sentAt;
    this.#first = null;
  }

  /** The answer is being sent; first content came at `contentAt` clock ticks (null: it came as a whole). */
  answering(contentAt: number | null): void {
    // The request must not stay in memory for as long as the answer goes on.
    this.#first = null;
    this.observer.answering(contentAt);
    const { prefix, model } = this.target;
    if (prefix !== null)
      notePrompt(this.#known, prefix.chain, { model, readAt: this.#deps.clock.ticks() });
    if (contentAt === null) return;
    const silentMs = contentAt - this.#sentAt;
    const { own, pool } = this.#permits;
    this.#ttftMs = silentMs;
    this.#own?.firstContent(own, { silentMs, slowMs: this.#slowMs(silentMs) });
    // A slow machine counts in its own circuit only, as another may be fast.
    if (pool !== null) this.#deps.circuits.firstContent(pool, { silentMs, slowMs: 0 });
  }

  /** Call it before the end. Returns whether the engine has read only a part of the prompt, as far as it tells. */
  used(tokens: Tokens | null): Cut | null {
    this.#tokens = tokens;
    const { upstream, mode } = this.target;
    // The rest of an answer has the answer so far in its prompt.
    if (upstream === 'local' && mode !== 'rest' && tokens?.estimated === false)
      this.#cut ??= noteLength(this.#known, this.target, tokens.input);
    return this.#cut;
  }

  /** Excludes the upstream for a while if the failure calls for that. */
  exclude(failure: Failure, epoch: number): void {
    const { model } = this.target;
    this.#own?.excludeAfter(this.#permits.own.id, failure, { model, epoch });
  }

  end(end: CallEnd): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const { circuits, clock, memory } = this.#deps;
    const { own, pool } = this.#permits;
    const endedAt = dualTimeOf(clock);
    const ms = endedAt.ticks - this.#sentAt;
    const call = this.target;
    const { result, ...words } = judge(end, { ms, slowMs: this.#slowMs(ms), mode: call.mode });
    const latencyMs = end.kind === 'served' && this.#own !== null ? ms : null;
    this.#own?.record(own, result, endedAt);
    // After a failure another machine of the pool may be called.
    if (pool !== null && end.kind !== 'failed' && end.kind !== 'outrun')
      circuits.record(pool, result, endedAt);
    const isRecalled = this.#isRecalled(end);
    // The prompt of an outrun call was read, and is paid for, although nothing of the answer came.
    const isPaid = end.kind === 'outrun' && !isRecalled;
    const lost = isPaid ? estimatedTokens(call.request.bytes.length, 0) : null;
    const tokens = this.#tokens ?? lost;
    const turn = { id: own.id, call, tokens, ttftMs: this.#ttftMs, readAt: endedAt.ticks };
    const reading = learnReading(memory, this.#known, turn);
    this.observer.ended({
      ...words,
      isRecalled,
      circuit: circuits.at(own.id).breaker.state.kind,
      endedAt,
      latencyMs,
      tokens,
      repairedCalls: this.repairedCalls,
      reading,
      cutAtTokens: this.#cut === null ? null : (tokens?.input ?? null),
    });
  }

  #isRecalled({ kind }: CallEnd): boolean {
    return (kind === 'cancelled' || kind === 'outrun') && this.#first?.hasLeft() === false;
  }

  /**
   * Null once the provider was removed: recording the call's result would bring its circuit back. Whatever was called has
   * been counted as sent.
   */
  get #own(): Circuits | null {
    const { circuits } = this.#deps;
    return circuits.at(this.#permits.own.id).breaker.health.requests === 0 ? null : circuits;
  }

  /** The part of a silence that counts as slow: a machine is not slow because a prompt is long. */
  #slowMs(silentMs: number): number {
    return Math.max(0, silentMs - this.target.explainedMs);
  }
}

interface Judgement extends Pick<AttemptEnd, 'reason' | 'error' | 'verdict'> {
  readonly result: Result;
}

/** What an end means for the circuits and for observers. */
function judge(
  end: CallEnd,
  took: { readonly ms: number; readonly slowMs: number; readonly mode: UpstreamCall['mode'] },
): Judgement {
  // The time to first token of an answer that comes as a whole is unknown.
  const isStreamed = took.mode !== 'whole';
  const neutral = { reason: null, error: null, result: NEUTRAL, verdict: 'neutral' } as const;
  switch (end.kind) {
    case 'served':
      return { ...neutral, result: { kind: 'success' }, verdict: 'served' };
    case 'cancelled':
      return neutral;
    case 'outrun': {
      // It counts as slow and as nothing else: how the call would have ended is unknown.
      const result = { kind: 'outrun', silentMs: took.ms, slowMs: took.slowMs } as const;
      return { ...neutral, reason: OUTRUN, result: isStreamed ? result : NEUTRAL };
    }
    case 'failed': {
      const { failure, error, wasSilent } = end;
      const silentMs = wasSilent && isStreamed ? took.slowMs : 0;
      const result = circuitResultOf(failure, { ms: took.ms, silentMs });
      // The circuit must not open for callers' bad requests; whether they were, the registry finds out.
      const hasFailed = result.kind === 'failure' || isUnexplainedRefusal(failure);
      return { reason: failure.reason, error, result, verdict: hasFailed ? 'failed' : 'neutral' };
    }
    case 'broken': {
      const error = `the stream broke off, ${end.detail}`;
      if (end.failure?.mark === 'neutral')
        return { ...neutral, reason: end.failure.reason, error, verdict: 'failed' };
      const costs = { error: `bad_response: ${error}`, silentMs: 0, costMs: Infinity };
      const result = { kind: 'failure', ...costs } as const;
      return { reason: 'bad_response', error, result, verdict: 'failed' };
    }
  }
}
