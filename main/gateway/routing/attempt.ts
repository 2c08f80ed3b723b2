import type { AttemptCause } from '#shared/live.ts';
import { OUTRUN } from '#shared/reasons.ts';
import type { Tokens, TurnReading } from '#shared/usage.ts';
import { type Clock, type DualTime, dualTimeOf } from '../../platform/clock.ts';
import { circuitResultOf, NEUTRAL, type Result } from '../circuits/breaker.ts';
import { type Circuits, type HeldPermit, isRemoved } from '../circuits/circuits.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { PendingCall } from '../upstream/exchange.ts';
import { type Failure, isUnexplainedRefusal } from '../upstream/failure.ts';
import { newBytesOf, type PromptChain } from '../protocols/prompt-chain.ts';
import { estimatedTokens } from '../protocols/usage.ts';
import type { AttemptEnd, AttemptObserver, RequestObserver } from './observer.ts';
import { notePrompt, noteReuse, learnRate } from './prefixes.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import { noteTurn } from './rereads.ts';
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
  hasEnded = false;
  #tokens: Tokens | null = null;
  #ttftMs: number | null = null;
  /** Whether the engine has read only a part of the prompt, as far as it tells. */
  cut: Cut | null = null;
  #reading: TurnReading | null = null;
  /** Tool calls that the answer had as text. */
  repairedCalls = 0;

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
    const { upstream, mode } = this.target;
    // The rest of an answer has the answer so far in its prompt.
    if (upstream !== 'local' || mode === 'rest' || tokens === null || tokens.estimated) return;
    this.cut ??= noteLength(this.#known, this.target, tokens.input);
  }

  /** Excludes the upstream for a while if the failure calls for that. */
  exclude(failure: Failure, epoch: number): void {
    const { circuits } = this.#deps;
    const { id } = this.#permits.own;
    const { model } = this.target;
    if (!isRemoved(id, circuits)) circuits.excludeAfter(id, failure, { model, epoch });
  }

  end(end: CallEnd): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const { circuits, clock } = this.#deps;
    const { own, pool } = this.#permits;
    const endedAt = end.kind === 'failed' ? end.endedAt : dualTimeOf(clock);
    const ms = endedAt.ticks - this.#calledAt;
    const isRecalled = this.#isRecalled(end);
    if (end.kind === 'outrun') this.#outrun(ms, isRecalled);
    const judged = judge(end, { ms, silentMs: this.#slowMs(ms), mode: this.target.mode });
    const isKnown = !isRemoved(own.id, circuits);
    if (isKnown) {
      this.#learn();
      circuits.record(own.id, own.permit, judged.result, endedAt);
    }
    // After a failure another machine of the pool may be called.
    if (pool !== null && end.kind !== 'failed' && end.kind !== 'outrun')
      circuits.record(pool.id, pool.permit, judged.result, endedAt);
    this.observer.ended({
      reason: judged.reason,
      error: judged.error,
      verdict: judged.verdict ?? VERDICTS[judged.result.kind],
      isRecalled,
      circuit: circuits.at(own.id).breaker.state.kind,
      endedAt,
      latencyMs: isKnown && end.kind === 'served' ? ms : null,
      tokens: this.#tokens,
      repairedCalls: this.repairedCalls,
      reading: this.#reading,
      cutAtTokens: this.cut === null ? null : (this.#tokens?.input ?? null),
    });
  }

  #isRecalled({ kind }: CallEnd): boolean {
    const isAborted = kind === 'cancelled' || kind === 'outrun';
    return isAborted && !this.#wasSentAgain && this.#pending?.hasLeft() === false;
  }

  /** How long the machine took for what it had to read, and what it had in its cache. */
  #learn(): void {
    const { upstream, model, promptBytes, prefix, mode } = this.target;
    const estimated = estimatedTokens(promptBytes, 0);
    const tokens = this.#tokens ?? estimated;
    const reusedShare = prefix === null ? null : noteReuse(this.#known, prefix, tokens);
    if (prefix !== null && mode !== 'rest') this.#reading = this.#noteTurn(prefix.chain, tokens);
    const newShare = reusedShare === null ? newBytesOf(this.target) / promptBytes : 1 - reusedShare;
    if (upstream !== 'local' || this.#ttftMs === null) return;
    // The next prompt's length is estimated too, but a picture has far fewer tokens than its bytes tell.
    const read = Math.min(estimated.input, tokens.input) * newShare;
    learnRate(this.#known, model, read, this.#ttftMs);
  }

  #noteTurn(chain: PromptChain, tokens: Tokens): TurnReading | null {
    const { clock, memory } = this.#deps;
    const { id } = this.#permits.own;
    const turn = { id, chain, tokens, call: this.target, readAt: clock.ticks() };
    return noteTurn(memory, this.#known, turn);
  }

  /** The part of a silence that counts as slow: a machine is not slow because a prompt is long. */
  #slowMs(silentMs: number): number {
    return Math.max(0, silentMs - this.target.explainedMs);
  }

  /** Counts as slow and as nothing else: how the call would have ended is unknown. */
  #outrun(silentMs: number, isRecalled: boolean): void {
    const { circuits } = this.#deps;
    const { id, permit } = this.#permits.own;
    // Its prompt was read, and is paid for, although nothing of the answer came.
    if (!isRecalled) this.#tokens ??= estimatedTokens(this.target.promptBytes, 0);
    // The time to first token of an answer that comes as a whole is unknown.
    if (this.target.mode === 'whole' || isRemoved(id, circuits)) return;
    circuits.hedgeLost(id, permit, { silentMs, slowMs: this.#slowMs(silentMs) });
  }

  #firstContent(ttftMs: number): void {
    const { circuits } = this.#deps;
    const { own, pool } = this.#permits;
    this.#ttftMs = ttftMs;
    if (!isRemoved(own.id, circuits))
      circuits.firstContent(own.id, own.permit, { ttftMs, slowMs: this.#slowMs(ttftMs) });
    // A slow machine counts in its own circuit only, as another may be fast.
    if (pool !== null) circuits.firstContent(pool.id, pool.permit, { ttftMs, slowMs: 0 });
  }
}

interface Judged extends Pick<AttemptEnd, 'reason' | 'error'> {
  readonly result: Result;
  /** Null: as the result. */
  readonly verdict: AttemptEnd['verdict'] | null;
}

/** What an end means for the circuits and for observers. */
function judge(
  end: CallEnd,
  took: { readonly ms: number; readonly silentMs: number; readonly mode: UpstreamCall['mode'] },
): Judged {
  const neutral = { reason: null, error: null, result: NEUTRAL, verdict: null };
  switch (end.kind) {
    case 'served':
      return { ...neutral, result: { kind: 'success' } };
    case 'cancelled':
      return neutral;
    case 'outrun':
      return { ...neutral, reason: OUTRUN };
    case 'failed': {
      const { failure, error, wasSilent } = end;
      // The time to first token of an answer that comes as a whole is unknown.
      const silentMs = wasSilent && took.mode !== 'whole' ? took.silentMs : 0;
      const result = circuitResultOf(failure, { ms: took.ms, silentMs });
      // The circuit must not open for callers' bad requests; whether they were, the registry finds out.
      const verdict = isUnexplainedRefusal(failure) ? 'failed' : null;
      return { reason: failure.reason, error, result, verdict };
    }
    case 'broken': {
      const error = `the stream broke off, ${end.detail}`;
      if (end.failure?.mark === 'neutral')
        return { ...neutral, reason: end.failure.reason, error, verdict: 'failed' };
      const costMs = Number.POSITIVE_INFINITY;
      const marked = { error: `bad_response: ${error}`, silentMs: 0, costMs };
      return { ...neutral, reason: 'bad_response', error, result: { kind: 'failure', ...marked } };
    }
  }
}

const VERDICTS = { success: 'served', failure: 'failed', neutral: 'neutral' } as const;
