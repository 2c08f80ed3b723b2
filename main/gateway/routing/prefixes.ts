import type { Tokens } from '#shared/usage.ts';
import type { Knowledge } from '../memory/memory.ts';
import type { CachedPrefix, PromptChain } from '../protocols/prompt-chain.ts';

/* Which prompts a machine has in its cache, as far as the gateway knows from what it sent there. */

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
