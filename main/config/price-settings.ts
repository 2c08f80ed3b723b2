import * as kinds from './setting-types.ts';
import { optional, setting } from './setting-types.ts';

/** What an upstream asks for a million tokens, and how much may be spent there; `prefix` as in `HOSTED_A`. */
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
    budgetDay: optional(
      `${prefix}_BUDGET_DAY`,
      kinds.amount,
      'Once so much is spent in a day, by these prices, it is not called until the next day. Empty: no limit.',
    ),
    budgetMonth: optional(
      `${prefix}_BUDGET_MONTH`,
      kinds.amount,
      'The same for a month, from its first day on.',
    ),
  };
}

export const CURRENCY = setting(
  'CURRENCY',
  kinds.text,
  'USD',
  'What prices are in; shown behind amounts.',
);
