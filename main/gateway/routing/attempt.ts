import type { AttemptCause } from '#shared/live.ts';
import { OUTRUN } from '#shared/reasons.ts';
import type { Tokens } from '#shared/usage.ts';
import { type Clock, type DualTime, dualTimeOf } from '../../platform/clock.ts';
import { circuitResultOf, NEUTRAL, type Permit, type Result } from '../circuits/breaker.ts';
import { type Circuits, type HeldPermit, isRemoved } from '../circuits/circuits.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { PendingCall } from '../upstream/exchange.ts';
import { type Failure, isUnexplainedRefusal } from '../upstream/failure.ts';
import { newBytesOf } from '../protocols/prompt-chain.ts';
import { estimatedTokens } from '../protocols/usage.ts';
import type { AttemptEnd, AttemptObserver, RequestObserver } from './observer.ts';
import { notePrompt, noteReuse } from './prefixes.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import { learnRate } from './reading-rates.ts';
import { type Cut, noteLength } from './windows.ts';

export interface Permits {
  /** The upstream's; in the local pool the machine's. */
  readonly own: HeldPermit;
  /** The local pool's: its circuit counts the request once, whichever machines are called. */
  readonly pool: HeldPermit | null;
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
      /** In words that may be shown. */
      readonly error: string;
      /** It timed out without any content. */
      readonly wasSilent: boolean;
      readonly endedAt: DualTime;
    }
  /** After its first content; `failure` is what the upstream said of it, if that means something. */
  | { readonly kind: 'broken'; readonly detail: string; readonly failure: Failure | null }
  | { readonly kind: 'cancelled' }
  /** Another call's content came first. To be told before the call is aborted. */
  | { readonly kind: 'outrun' };

/** What an end means for the circuits and for observers. */
type Judged = Pick<AttemptEnd, 'reason'> &
  Partial<Pick<AttemptEnd, 'error' | 'verdict' | 'isRecalled' | 'endedAt'>> & {
    readonly result: Result;
    /** The result is the pool's as well, as no other machine will be called. */
    readonly isPools: boolean;
  };

/** A call that was sent. */
type Pending = Pick<PendingCall, 'sentAt' | 'hasLeft'>;

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
  #calledAt: number;
  #wasSentAgain = false;
  /** Null once the answer is being sent. */
  #pending: Pending | null;
  #hasEnded = false;
  #tokens: Tokens | null = null;
  #ttftMs: number | null = null;
  #cut: Cut | null = null;

  constructor(
    start: {
      readonly target: UpstreamCall;
      readonly permits: Permits;
      readonly cause: AttemptCause;
      readonly pending: Pending;
    },
    observer: RequestObserver,
    deps: AttemptDeps,
  ) {
    const { target, permits, cause, pending } = start;
    const { sentAt } = pending;
    const { own, pool } = permits;
    this.target = target;
    this.#permits = permits;
    this.#pending = pending;
    this.#calledAt = sentAt;
    this.#deps = deps;
    this.#known = deps.memory.of(own.id);
    const ids = pool === null ? [own.id] : [own.id, pool.id];
    this.observer = observer.attemptStarted({
      target,
      cause,
      startedAt: sentAt,
      ids,
      circuit: deps.circuits.at(own.id).breaker.state.kind,
    });
    for (const id of ids) deps.circuits.sent(id);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get id(): string {
    return this.#permits.own.id;
  }

  /** Sent once more: changed, as the upstream asked for it, or because it is still starting. */
  sentAgain(pending: Pending): void {
    this.#pending = pending;
    this.#calledAt = pending.sentAt;
    this.#wasSentAgain = true;
  }

  /** The answer is being sent; first content came at `contentAt` clock ticks (null: it came as a whole). */
  answering(contentAt: number | null): void {
    // The request must not stay in memory for as long as the answer goes on.
    this.#pending = null;
    this.observer.answering(contentAt);
    const { prefix, model } = this.target;
    if (prefix !== null)
      notePrompt(this.#known, prefix.chain, { model, readAt: this.#deps.clock.ticks() });
    if (contentAt !== null) this.#firstContent(contentAt - this.#calledAt);
  }

  /** To be called before the end. */
  used(tokens: Tokens | null): void {
    this.#tokens = tokens;
    this.#cut ??= this.#cutBy(tokens);
  }

  /** Whether the engine has read only a part of the prompt, as far as it tells. */
  get cut(): Cut | null {
    return this.#cut;
  }

  #cutBy(tokens: Tokens | null): Cut | null {
    const { upstream, mode } = this.target;
    // The rest of an answer has the answer so far in its prompt.
    if (upstream !== 'local' || mode === 'rest' || tokens === null || tokens.estimated) return null;
    return noteLength(this.#known, this.target, tokens.input);
  }

  end(end: CallEnd): void {
    if (this.#hasEnded) return;
    const { result, isPools, ...judged } = this.#judge(end);
    this.#hasEnded = true;
    const { circuits, clock } = this.#deps;
    const { own, pool } = this.#permits;
    const endedAt = judged.endedAt ?? dualTimeOf(clock);
    const isKnown = !isRemoved(own.id, circuits);
    if (isKnown) {
      this.#learn();
      circuits.record(own.id, own.permit, result, endedAt);
    }
    if (isPools && pool !== null && !isRemoved(pool.id, circuits))
      circuits.record(pool.id, pool.permit, result, endedAt);
    this.observer.ended({
      verdict: VERDICTS[result.kind],
      error: null,
      isRecalled: false,
      ...judged,
      circuit: circuits.at(own.id).breaker.state.kind,
      endedAt,
      latencyMs: isKnown && result.kind === 'success' ? endedAt.ticks - this.#calledAt : null,
      tokens: this.#tokens,
      cutAtTokens: this.#cut === null ? null : (this.#tokens?.input ?? null),
    });
  }

  /** How long the machine took for what it had to read, and what it had in its cache. */
  #learn(): void {
    const { upstream, model, promptBytes, prefix } = this.target;
    const tokens = this.#tokens ?? estimatedTokens(promptBytes, 0);
    const reusedShare = prefix === null ? null : noteReuse(this.#known, prefix, tokens);
    const newShare = reusedShare === null ? newBytesOf(this.target) / promptBytes : 1 - reusedShare;
    if (upstream === 'local' && this.#ttftMs !== null)
      learnRate(this.#known, model, tokens.input * newShare, this.#ttftMs);
  }

  /** The part of a silence that counts as slow: a machine is not slow because a prompt is long. */
  #slowMs(silentMs: number): number {
    return Math.max(0, silentMs - this.target.explainedMs);
  }

  #judge(end: CallEnd): Judged {
    switch (end.kind) {
      case 'served':
        return { reason: null, result: { kind: 'success' }, isPools: true };
      case 'failed':
        return this.#judgeFailed(end);
      case 'broken': {
        const error = `the stream broke off, ${end.detail}`;
        const { failure } = end;
        if (failure?.mark === 'neutral') {
          const { reason } = failure;
          return { reason, result: NEUTRAL, isPools: true, verdict: 'failed', error };
        }
        const costMs = Number.POSITIVE_INFINITY;
        const marked = { error: `bad_response: ${error}`, silentMs: 0, costMs };
        const result = { kind: 'failure', ...marked } as const;
        return { reason: 'bad_response', result, isPools: true, error };
      }
      case 'cancelled':
        return { reason: null, result: NEUTRAL, isPools: true, isRecalled: this.#isRecalled() };
      case 'outrun': {
        const isRecalled = this.#isRecalled();
        this.#outrun(isRecalled);
        return { reason: OUTRUN, result: NEUTRAL, isPools: false, isRecalled };
      }
    }
  }

  #judgeFailed({
    failure,
    error,
    wasSilent,
    endedAt,
  }: Extract<CallEnd, { readonly kind: 'failed' }>): Judged {
    const ms = endedAt.ticks - this.#calledAt;
    // The time to first token of an answer that comes as a whole is unknown.
    const isSlow = wasSilent && this.target.mode !== 'whole';
    const silentMs = isSlow ? this.#slowMs(ms) : 0;
    const result = circuitResultOf(failure, { ms, silentMs });
    // The circuit must not open for callers' bad requests; whether they were, the registry finds out.
    const verdict = isUnexplainedRefusal(failure) ? 'failed' : VERDICTS[result.kind];
    return { reason: failure.reason, result, isPools: false, verdict, error, endedAt };
  }

  /** Counts as slow and as nothing else: how the call would have ended is unknown. */
  #outrun(isRecalled: boolean): void {
    const { clock, circuits } = this.#deps;
    const { own } = this.#permits;
    // Its prompt was read, and is paid for, although nothing of the answer came.
    if (!isRecalled) this.#tokens ??= estimatedTokens(this.target.promptBytes, 0);
    // The time to first token of an answer that comes as a whole is unknown.
    if (this.target.mode === 'whole' || isRemoved(own.id, circuits)) return;
    const silentMs = clock.ticks() - this.#calledAt;
    circuits.hedgeLost(own.id, own.permit, { silentMs, slowMs: this.#slowMs(silentMs) });
  }

  #isRecalled(): boolean {
    return !this.#wasSentAgain && this.#pending?.hasLeft() === false;
  }

  #firstContent(ttftMs: number): void {
    const { circuits } = this.#deps;
    const { own, pool } = this.#permits;
    this.#ttftMs = ttftMs;
    if (!isRemoved(own.id, circuits))
      circuits.firstContent(own.id, own.permit, { ttftMs, slowMs: this.#slowMs(ttftMs) });
    if (pool === null) return;
    circuits.firstContent(pool.id, poolPermit(pool, circuits), { ttftMs, slowMs: ttftMs });
  }
}

const VERDICTS = { success: 'served', failure: 'failed', neutral: 'neutral' } as const;

/** Matches no breaker state, so only the averages are updated. */
const UNJUDGED: Permit = { serial: -1 };

/**
 * The permit under which the pool records first content. A slow machine counts in its own circuit only, as
 * another may be fast; but the pool's probe is kept alive by it.
 */
function poolPermit({ id, permit }: HeldPermit, circuits: Circuits): Permit {
  return circuits.at(id).breaker.state.kind === 'probing' ? permit : UNJUDGED;
}
