/** How fast upstreams read prompts, in tokens per second. */
export type ReadingRates = ReturnType<typeof createReadingRates>;

interface Reading {
  readonly tokens: number;
  readonly ms: number;
}

/** Shorter readings are lost in what else an answer takes. */
const MIN_TOKENS = 200;
/** A reading counts for half once so many tokens were read after it, so that a change of engine or load is soon learned. */
const HALF_LIFE_TOKENS = 20_000;
/** Names of models come from callers. */
const MAX_MODELS = 64;

/** One decaying mean per upstream, or machine of the local pool, and model. */
export function createReadingRates() {
  const known = new Map<string, Map<string, Reading>>();
  return {
    /** `tokens` of a prompt were read in `ms`; those from a cache do not count. */
    record(id: string, model: string, tokens: number, ms: number): void {
      if (!(tokens >= MIN_TOKENS && ms > 0)) return;
      const models = known.get(id) ?? new Map<string, Reading>();
      known.set(id, models);
      const before = models.get(model) ?? { tokens: 0, ms: 0 };
      const kept = 0.5 ** (tokens / HALF_LIFE_TOKENS);
      models.delete(model);
      models.set(model, { tokens: kept * before.tokens + tokens, ms: kept * before.ms + ms });
      const [oldest] = models.keys();
      if (models.size > MAX_MODELS && oldest !== undefined) models.delete(oldest);
    },
    /** Null before the first reading. */
    tokensPerSecond(id: string, model: string): number | null {
      const reading = known.get(id)?.get(model);
      return reading === undefined ? null : (1000 * reading.tokens) / reading.ms;
    },
    forget: (id: string) => void known.delete(id),
  };
}
