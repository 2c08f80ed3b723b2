import type { Knowledge } from '../memory/memory.ts';

/* How fast upstreams read prompts: a decaying mean per upstream, or machine of the local pool, and model. */

/** Shorter readings are lost in what else an answer takes. */
const MIN_TOKENS = 200;
/** A reading counts for half once so many tokens were read after it, so that a change of engine or load is soon learned. */
const HALF_LIFE_TOKENS = 20_000;

/** `tokens` of a prompt were read in `ms`; those from a cache do not count. */
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
