import type { Tokens } from '#shared/usage.ts';
import type { Knowledge } from '../memory/memory.ts';
import type { CachedPrefix, PromptChain } from '../protocols/prompt-chain.ts';

/* What an upstream or machine has read, as far as the gateway knows from what it sent there, and how fast. */

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
export function learnRate(known: Knowledge, model: string, tokens: number, ms: number): void {
  if (!(tokens >= MIN_TOKENS && ms > 0)) return;
  const before = known.get('rate', model) ?? { tokens: 0, ms: 0 };
  const kept = 0.5 ** (tokens / HALF_LIFE_TOKENS);
  known.set('rate', model, { tokens: kept * before.tokens + tokens, ms: kept * before.ms + ms });
}

/** Null before the first reading. */
export function readingRate(known: Knowledge, model: string): number | null {
  const reading = known.get('rate', model);
  return reading === null ? null : (1000 * reading.tokens) / reading.ms;
}
