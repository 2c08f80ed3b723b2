import * as kinds from './setting-types.ts';
import { optional, setting } from './setting-types.ts';

/** What an upstream asks for a million tokens; `prefix` as in `HOSTED_A`. */
export function priceSettings(prefix: string) {
  return {
    priceInput: optional(
      `${prefix}_PRICE_INPUT`,
      kinds.amount,
      'Price of a million input tokens, for the history. Empty: none.',
    ),
    priceOutput: optional(
      `${prefix}_PRICE_OUTPUT`,
      kinds.amount,
      'Price of a million output tokens.',
    ),
    priceCached: optional(
      `${prefix}_PRICE_CACHED`,
      kinds.amount,
      'Price of a million input tokens from its cache. Empty: that of the others.',
    ),
  };
}

export const CURRENCY = setting(
  'CURRENCY',
  kinds.text,
  'USD',
  'What prices are in; shown behind amounts.',
);
