import { OUTRUN } from '#shared/reasons.ts';
import type { Tokens, TurnReading } from '#shared/usage.ts';
import type { Config } from '../../config/schema.ts';
import { type Clock, dualTimeOf } from '../../platform/clock.ts';
import { circuitResultOf, NEUTRAL, type Result, wasWell } from '../circuits/breaker.ts';
import type { CircuitPermit, Circuits } from '../circuits/circuits.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import {
  type CachedPrefix,
  chainOf,
  type PromptChain,
  unreadShare,
} from '../protocols/prompt-chain.ts';
import { NOTHING_SPENT, tokensIn, tokensOf } from '../protocols/tokens.ts';
import type { ChatCall, LocalForm, PromptReading, UpstreamCall } from '../upstream/call.ts';
import { type Failure, isUnexplainedRefusal } from '../upstream/failure.ts';
import type { AttemptEnd } from './observer.ts';
import { noteTurn } from './rereads.ts';
import { type Cut, noteLength } from './windows.ts';

/*
 * What calls teach of their upstream or machine: whether it is well, what its engine has read, how fast, and how far; and
 * what of it is known when the next one is made.
 */

export interface Permits {
  /** The upstream's; in the local pool the machine's. */
  readonly own: CircuitPermit;
  /** The local pool's: its circuit counts the request once, whichever machines are called. */
  readonly pool: CircuitPermit | null;
}

/** A call that was sent. */
export interface SentCall {
  readonly target: UpstreamCall;
  readonly permits: Permits;
  /** What was known of its upstream or machine when it was sent. */
  readonly known: Knowledge;
}

/** How far it has come. */
export interface CallProgress {
  readonly call: SentCall;
  /** When it was sent for the last time, in clock ticks. */
  readonly sentAt: number;
  /** Null if it was not streamed, or nothing came. */
  readonly ttftMs: number | null;
  /** Null if nothing was used, as far as is known. */
  readonly tokens: Tokens | null;
  /** Whether the engine has read only a part of the prompt, as far as it tells. */
  readonly cut: Cut | null;
  /** Tool calls that the answer had as text. */
  readonly repairedCalls: number;
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

export type Lessons = ReturnType<typeof createLessons>;

interface LessonsDeps {
  readonly clock: Clock;
  readonly circuits: Circuits;
  readonly memory: Memory;
}

export function createLessons({ clock, circuits, memory }: LessonsDeps) {
  /**
   * Null once the provider was removed: recording the call's result would bring its circuit back. Whatever was called has
   * been counted as sent.
   */
  const circuitsOf = ({ permits }: SentCall): Circuits | null =>
    circuits.at(permits.own.id).breaker.health.requests === 0 ? null : circuits;

  return {
    /** Its answer is being sent. */
    answering({ call, ttftMs: silentMs }: CallProgress): void {
      const { target, permits, known } = call;
      const { prefix, model } = target;
      if (prefix !== null) notePrompt(known, prefix.chain, { model, readAt: clock.ticks() });
      if (silentMs === null) return;
      const { own, pool } = permits;
      circuitsOf(call)?.firstContent(own, { silentMs, slowMs: slowMsOf(call, silentMs) });
      // A slow machine counts in its own circuit only, as another may be fast.
      if (pool !== null) circuits.firstContent(pool, { silentMs, slowMs: 0 });
    },
    /** Returns whether its engine has read only a part of the prompt, as far as it tells. */
    used({ call: { target, known }, tokens }: CallProgress): Cut | null {
      const { upstream, mode } = target;
      // The rest of an answer has the answer so far in its prompt.
      const isTold = upstream === 'local' && mode !== 'rest' && tokens?.estimated === false;
      return isTold ? noteLength(known, target, tokens.input) : null;
    },
    /** Excludes its upstream for a while if the failure calls for that. */
    exclude(call: SentCall, failure: Failure, epoch: number): void {
      const { target, permits } = call;
      circuitsOf(call)?.excludeAfter(permits.own.id, failure, { model: target.model, epoch });
    },
    /** `isRecalled`: it was aborted before anything of it had left. */
    ended(progress: CallProgress, end: CallEnd, isRecalled: boolean): AttemptEnd {
      const { call, repairedCalls } = progress;
      const { target, permits } = call;
      const { own, pool } = permits;
      const endedAt = dualTimeOf(clock);
      const ms = endedAt.ticks - progress.sentAt;
      const isWell = wasWell(circuits.at(own.id).breaker.health, own);
      const { result, reason, error, verdict } = judge(end, ms, call, isWell);
      const latencyMs = end.kind === 'served' && circuitsOf(call) !== null ? ms : null;
      circuitsOf(call)?.record(own, result, endedAt);
      // After a failure another machine of the pool may be called.
      if (pool !== null && end.kind !== 'failed' && end.kind !== 'outrun')
        circuits.record(pool, result, endedAt);
      // The prompt of an outrun call was read, and is paid for, although nothing of the answer came.
      const isPaid = end.kind === 'outrun' && !isRecalled;
      const tokens = progress.tokens ?? (isPaid ? tokensOf(NOTHING_SPENT, target.request) : null);
      const reading = learnReading(memory, progress, tokens, endedAt.ticks);
      const circuit = circuits.at(own.id).breaker.state.kind;
      const cutAtTokens = progress.cut === null ? null : (tokens?.input ?? null);
      const told = { circuit, endedAt, latencyMs, tokens, repairedCalls, reading };
      return { ...told, reason, error, verdict, cutAtTokens, isRecalled };
    },
  };
}

/** The part of a silence that counts as slow: a machine is not slow because a prompt is long. */
const slowMsOf = ({ target }: SentCall, silentMs: number): number =>
  Math.max(0, silentMs - target.explainedMs);

interface Judgement extends Pick<AttemptEnd, 'reason' | 'error' | 'verdict'> {
  readonly result: Result;
}

/** What an end means for the circuits and for observers; `isWell`: as other calls show. */
function judge(end: CallEnd, ms: number, call: SentCall, isWell: boolean): Judgement {
  const slowMs = slowMsOf(call, ms);
  // The time to first token of an answer that comes as a whole is unknown.
  const isStreamed = call.target.mode !== 'whole';
  const neutral = { reason: null, error: null, result: NEUTRAL, verdict: 'neutral' } as const;
  switch (end.kind) {
    case 'served':
      return { ...neutral, result: { kind: 'success' }, verdict: 'served' };
    case 'cancelled':
      return neutral;
    case 'outrun': {
      // It counts as slow and as nothing else: how the call would have ended is unknown.
      const result = { kind: 'outrun', silentMs: ms, slowMs } as const;
      return { ...neutral, reason: OUTRUN, result: isStreamed ? result : NEUTRAL };
    }
    case 'failed': {
      const { failure, error, wasSilent } = end;
      const silentMs = wasSilent && isStreamed ? slowMs : 0;
      const isExcused = failure.mark === 'doubtful' && isWell;
      const result = isExcused ? NEUTRAL : circuitResultOf(failure, { ms, silentMs });
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

/** Engines keep whole blocks, and templates leave out earlier thoughts: somewhat less is no loss. */
const LOST_BELOW = 0.5;

export function cachedPrefix(known: Knowledge, chain: PromptChain): CachedPrefix {
  const { keys, lengths, session } = chain;
  const has = (key: number | null) => key !== null && known.get('prefixes', key) !== null;
  // All prompts begin with the first key, so most prompts and machines need one look.
  const at = has(keys[0] ?? null) ? keys.findLastIndex(has) : -1;
  return {
    chain,
    bytes: lengths[at] ?? 0,
    isConversation: at > 0 || has(session),
    readAt: known.get('prefixes', keys[at] ?? '')?.readAt ?? null,
  };
}

/** The machine has read the whole prompt. */
export function notePrompt(
  known: Knowledge,
  { keys, session }: Pick<PromptChain, 'keys' | 'session'>,
  of: { readonly model: string; readonly readAt: number },
): void {
  known.setAll('prefixes', session === null ? keys : [...keys, session], of);
}

/**
 * Takes what the machine reports of a prompt: if it had far less than is known here, what it read even earlier is gone as
 * well. Gives the share that it had; null if it does not report it.
 */
export function noteReuse(
  known: Knowledge,
  { chain, bytes, readAt }: CachedPrefix,
  { input, cached, estimated }: Tokens,
): number | null {
  if (cached > 0) known.set('tells_reuse', '', true);
  // Others report 0 or nothing, which are the same here.
  if (estimated || input === 0 || known.get('tells_reuse') === null) return null;
  const share = cached / input;
  // A system prompt alone may be in a slot that is taken, while this prompt got another.
  const isMissed = bytes > (chain.lengths[0] ?? 0) && share < (LOST_BELOW * bytes) / chain.bytes;
  // Engines drop first what was used longest ago.
  if (readAt !== null && isMissed) known.deleteWhere('prefixes', (each) => each.readAt <= readAt);
  return share;
}

/** Shorter readings are lost in what else an answer takes. */
const MIN_TOKENS = 200;
/** A reading counts for half once so many tokens were read after it, so that a change of engine or load is soon learned. */
const HALF_LIFE_TOKENS = 20_000;

/** A decaying mean for each model: `tokens` of a prompt were read in `ms`; those from a cache do not count. */
function learnRate(known: Knowledge, model: string, tokens: number, ms: number): void {
  if (!(tokens >= MIN_TOKENS && ms > 0)) return;
  const before = known.get('rate', model) ?? { tokens: 0, ms: 0 };
  const kept = 0.5 ** (tokens / HALF_LIFE_TOKENS);
  known.set('rate', model, { tokens: kept * before.tokens + tokens, ms: kept * before.ms + ms });
}

/** The hashes of the prompt's turns; null if it has none, or it does not matter which machine has read them. */
export function chainFor({ asked, headers }: ChatCall, { routing }: Config): PromptChain | null {
  const { keepsModel: isForVectors, answer } = asked.endpoint;
  // Vectors are computed again each time, and a prompt whose tokens are counted is not read.
  const isRead = !isForVectors && answer.stream !== null;
  return isRead && routing.affinity === 'auto' ? chainOf(asked, headers) : null;
}

/** What is known of an engine or machine for a prompt. */
export function readingAt(
  known: Knowledge,
  chain: PromptChain | null,
  model: string,
): PromptReading {
  const rate = known.get('rate', model);
  return {
    prefix: chain === null ? null : cachedPrefix(known, chain),
    tokensPerSecond: rate === null ? null : (1000 * rate.tokens) / rate.ms,
  };
}

/** The same for a request in the form in which it is sent there. */
export const readingFor = (
  { form, known, model }: LocalForm & { readonly known: Knowledge },
  config: Config,
): PromptReading => readingAt(known, chainFor(form, config), model ?? '');

/**
 * Learns from a call how fast the machine read, and what it had in its cache. Says why it read the prompt; null if nothing
 * is to be explained.
 */
function learnReading(
  memory: Memory,
  { call: { target, permits, known }, ttftMs }: CallProgress,
  tokens: Tokens | null,
  readAt: number,
): TurnReading | null {
  const { upstream, model, request, prefix, mode } = target;
  const share = prefix === null || tokens === null ? null : noteReuse(known, prefix, tokens);
  const newShare = share === null ? unreadShare(prefix) : 1 - share;
  // The next prompt's length is estimated too, but many models make fewer tokens of a picture.
  const read = Math.min(tokensIn(request.bytes), tokens?.input ?? Infinity) * newShare;
  if (upstream === 'local' && ttftMs !== null) learnRate(known, model, read, ttftMs);
  if (prefix === null || tokens === null || mode === 'rest') return null;
  const turn = { id: permits.own.id, chain: prefix.chain, tokens, call: target, readAt };
  return noteTurn(memory, known, turn);
}
