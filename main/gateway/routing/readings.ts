import type { Tokens, TurnReading } from '#shared/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import type { ReadTurn } from '../memory/topics.ts';
import { type CachedPrefix, chainOf, type PromptChain } from '../protocols/prompt-chain.ts';
import { tokensIn } from '../protocols/tokens.ts';
import type { ChatCall, LocalForm, PromptReading, UpstreamCall } from '../upstream/call.ts';

/*
 * What an upstream or machine has read, as far as the gateway knows from what it sent there, and how fast; and why an engine
 * read tokens again that had been read for an earlier turn of the conversation.
 */

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

/** The share of a prompt that a machine has yet to read. */
export const unreadShare = (prefix: CachedPrefix | null): number =>
  prefix === null ? 1 : 1 - prefix.bytes / prefix.chain.bytes;

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

/** A call that has ended. */
interface EndedCall {
  /** Of the upstream or machine. */
  readonly id: string;
  readonly call: UpstreamCall;
  /** Null if nothing is known of them. */
  readonly tokens: Tokens | null;
  /** Null if it was not streamed, or nothing came. */
  readonly ttftMs: number | null;
  /** In clock ticks. */
  readonly readAt: number;
}

/**
 * Learns from a call how fast the machine read, and what it had in its cache. Says why it read the prompt; null if nothing
 * is to be explained.
 */
export function learnReading(
  memory: Memory,
  known: Knowledge,
  { id, call, tokens, ttftMs, readAt }: EndedCall,
): TurnReading | null {
  const { upstream, model, request, prefix, mode } = call;
  const share = prefix === null || tokens === null ? null : noteReuse(known, prefix, tokens);
  const newShare = share === null ? unreadShare(prefix) : 1 - share;
  // The next prompt's length is estimated too, but many models make fewer tokens of a picture.
  const read = Math.min(tokensIn(request.bytes), tokens?.input ?? Infinity) * newShare;
  if (upstream === 'local' && ttftMs !== null) learnRate(known, model, read, ttftMs);
  if (prefix === null || tokens === null || mode === 'rest') return null;
  return noteTurn(memory, known, { id, chain: prefix.chain, tokens, call, readAt });
}

/** The latest turn before this one, and the upstream or machine that read it. */
interface EarlierTurn {
  readonly id: string;
  readonly turn: ReadTurn;
}

/** A turn that an engine has just read. */
interface Turn extends Pick<EndedCall, 'id' | 'readAt'> {
  readonly chain: PromptChain;
  readonly tokens: Tokens;
  readonly call: Pick<UpstreamCall, 'model' | 'isLoading'>;
}

/** Engines keep whole blocks, and templates change the end of a prompt: fewer are no loss. */
const LEAST_TOKENS = 256;
const LEAST_SHARE = 0.05;

/** Null if the engine had what it had read before, or nothing is known that would explain it. */
function whyRead(
  earlier: EarlierTurn | null,
  { chain, id, tokens, call }: Turn,
): TurnReading | null {
  if (earlier === null)
    return chain.hasAnswer() ? null : { why: 'first_turn', again: 0, message: null };
  const { turn } = earlier;
  const again = Math.min(turn.input, tokens.input) - tokens.cached;
  if (again < Math.max(LEAST_TOKENS, LEAST_SHARE * tokens.input)) return null;
  const because = (why: TurnReading['why'], message: number | null = null) => {
    return { why, again, message };
  };
  if (earlier.id !== id) return because('another_machine');
  if (turn.model !== call.model) return because('another_model');
  if (turn.isUnloaded || call.isLoading) return because('unloaded');
  const at = lastCommon(turn, chain);
  if (at === -1) return because(turn.tools === chain.tools ? 'system' : 'tools');
  const isSame = chain.keys[at] === turn.keys.at(-1) || at === chain.keys.length - 1;
  if (isSame) return because('evicted');
  const part = chain.behind(at);
  return because(part?.kind ?? 'message', part?.position ?? null);
}

/** Notes the turn as read, and says why it was read as far as the engine reports what it had in its cache. */
export function noteTurn(memory: Memory, known: Knowledge, turn: Turn): TurnReading | null {
  const { chain, tokens, call, readAt } = turn;
  const { keys, tools, session, anchors } = chain;
  // A text has no messages to name, and estimated tokens say nothing of the cache.
  if (anchors.length === 0 || tokens.estimated || tokens.input === 0) return null;
  const isTold = known.get('tells_reuse') !== null;
  // Searched for before this turn is noted, which would be found.
  const earlier = isTold ? earlierTurn(memory, chain) : null;
  const names = [keys.at(-1) ?? 0, ...anchors, ...(session === null ? [] : [session])];
  const { input } = tokens;
  const { model } = call;
  known.setAll('turns', names, { model, keys, tools, input, isUnloaded: false, readAt });
  return isTold ? whyRead(earlier, turn) : null;
}

/** The index of the last prefix that an earlier turn had as well; -1: not even the first. */
function lastCommon({ keys }: ReadTurn, chain: PromptChain): number {
  const before = new Set(keys);
  return chain.keys.findLastIndex((key) => before.has(key));
}

/** Of the turns that may be of this conversation, the one that has most of it, and of several the latest. */
function earlierTurn(memory: Memory, chain: PromptChain): EarlierTurn | null {
  // Two conversations may begin alike, which one without an answer cannot tell from its own earlier turn.
  const names = chain.hasAnswer() ? [...chain.anchors, chain.session] : [];
  const found = memory.ids('turns').flatMap((id) => {
    const known = memory.of(id);
    const end = chain.keys.findLast((key, at) => at > 0 && known.get('turns', key) !== null);
    return [end ?? null, ...names].flatMap((name) => {
      const turn = name === null ? null : known.get('turns', name);
      return turn === null ? [] : [{ id, turn, common: lastCommon(turn, chain) }];
    });
  });
  return found.toSorted((a, b) => b.common - a.common || b.turn.readAt - a.turn.readAt)[0] ?? null;
}
