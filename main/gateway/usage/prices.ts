import { HOSTED_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Tokens } from '#shared/usage.ts';
import type { Config } from '../../config/schema.ts';

/** For a million tokens each. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

/** Null where no price is set. Cached tokens without a price of their own cost what others do. */
export function priceOf(config: Config, id: UpstreamId): Price | null {
  if (id === 'local') return null;
  const { priceInput, priceOutput, priceCached } = config[id];
  if (priceInput === null && priceOutput === null && priceCached === null) return null;
  const input = priceInput ?? 0;
  return { input, output: priceOutput ?? 0, cached: priceCached ?? input };
}

/** Of the first hosted upstream with a price: what the tokens of `local` would have cost there. */
export function priceInstead(config: Config): Price | null {
  for (const id of HOSTED_IDS) {
    const price = config[id].baseUrl === null ? null : priceOf(config, id);
    if (price !== null) return price;
  }
  return null;
}

/** In billionths: whole numbers add up exactly. */
export function costNano({ input, output, cached }: Tokens, price: Price): number {
  const known = Math.min(cached, input);
  const sum = (input - known) * price.input + known * price.cached + output * price.output;
  return Math.round(sum * 1000);
}
