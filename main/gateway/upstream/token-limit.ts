import { smallValueOf, withMembers, topLevelMembers } from '../protocols/json-edit.ts';

/** A request that may have more tokens for its answer than a model can give, or fewer than it takes, is asked for others. */
export type TokenLimit = `at_${'most' | 'least'}_${number}`;

const FIELDS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'];

/** How hosts and engines say how many they can give, whatever the prompt. */
const MOST = [
  // OpenAI.
  /supports at most (\d{1,9}) completion tokens/,
  // DeepSeek (mnfst/llm-gateway#1177); DashScope.
  /range of max_tokens (?:is|should be) \[1, ?(\d{1,9})\]/i,
  // Groq.
  /max_(?:completion_)?tokens`? must be less than or equal to `?(\d{1,9})/,
  // Anthropic.
  /max_tokens: \d{1,9} > (\d{1,9}), which is the maximum/,
];

/** How they say that prompt and answer together are too long: the window, and the tokens of the prompt. */
const WINDOW = [
  // vLLM (farion1231/cc-switch#1022); OpenAI, vLLM before 0.7 and SGLang.
  /context length is (\d{1,9}) tokens\b.{0,40}\brequest has (\d{1,9}) input tokens/,
  /context length (?:is|of) (\d{1,9}) tokens\b.{0,80}?\b(\d{1,9}) (?:tokens from the input|in the) messages/,
];
/** Anthropic: the prompt, what was asked for, the window. */
const SUM = /exceed context limit: (\d{1,9}) \+ \d{1,9} > (\d{1,9})/;

/** Fewer are no answer: another upstream may have a larger window. */
const LEAST_TOKENS = 4096;
/** Of a small window. */
const LEAST_SHARE = 1 / 4;

/** OpenAI, for the one token with which apps ask whether a model is there (farion1231/cc-switch#7103). */
const LEAST = /\bmax_(?:\w+_)?tokens\b.{0,40}minimum value. expected a value >= (\d{1,9})/i;

/** The limit that would answer a refusal of the one that `body` has; null if there is none, or it was tried. */
export function tokenLimitIn(
  text: string,
  body: Buffer,
  made: ReadonlySet<string>,
): TokenLimit | null {
  if ([...made].some(isTokenLimit)) return null;
  const [, least] = LEAST.exec(text) ?? [];
  const most = least === undefined ? mostIn(text) : null;
  if (least === undefined && most === null) return null;
  const limit =
    least === undefined
      ? (`at_most_${most ?? 0}` as const)
      : (`at_least_${Number(least)}` as const);
  return withTokenLimit(body, new Set([limit])) === body ? null : limit;
}

const LIMIT = /^at_(most|least)_(\d+)$/;

export const isTokenLimit = (adjustment: string): boolean => LIMIT.test(adjustment);

function mostIn(text: string): number | null {
  for (const pattern of MOST) {
    const [, most] = pattern.exec(text) ?? [];
    if (most !== undefined) return Number(most);
  }
  const [, prompt, window] = SUM.exec(text) ?? [];
  const sizes = prompt !== undefined && window !== undefined ? [window, prompt] : windowIn(text);
  if (sizes === null) return null;
  const [inAll = 0, read = 0] = sizes.map(Number);
  const left = inAll - read;
  return left >= Math.min(LEAST_TOKENS, inAll * LEAST_SHARE) ? left : null;
}

function windowIn(text: string): readonly string[] | null {
  for (const pattern of WINDOW) {
    const found = pattern.exec(text);
    if (found !== null) return found.slice(1);
  }
  return null;
}

/** The body with the limit that is among the changes, where its own is beyond it. */
export function withTokenLimit(body: Buffer, made: ReadonlySet<string>): Buffer {
  const [, side, digits] = LIMIT.exec([...made].find(isTokenLimit) ?? '') ?? [];
  if (side === undefined) return body;
  const limit = Number(digits);
  const members = topLevelMembers(body);
  const beyond = FIELDS.filter((field) => {
    const asked = smallValueOf(body, members, field);
    return typeof asked === 'number' && (side === 'most' ? asked > limit : asked < limit);
  });
  if (beyond.length === 0) return body;
  return withMembers(body, members, Object.fromEntries(beyond.map((field) => [field, `${limit}`])));
}
