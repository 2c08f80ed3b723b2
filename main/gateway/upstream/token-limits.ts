import { type BodyChange, smallValueOf, withMembers } from '../protocols/json-edit.ts';

/** A request that may have more tokens for its answer than a model can give, or fewer than it takes, is asked for others. */
export type TokenLimit = `at_${'most' | 'least'}_${number}`;

const FIELDS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'];

/**
 * How hosts and engines name a limit, in order: the `least` or the `most` tokens, whatever the prompt, or the `window` that
 * is too short for the answer behind so many tokens of the `prompt`.
 */
const WORDS = [
  // OpenAI, for the one token with which apps ask whether a model is there (farion1231/cc-switch#7103).
  /\bmax_(?:\w+_)?tokens\b.{0,80}?(?:>=|at least|greater than or equal to)\W{0,3}(?<least>\d{1,9})/i,
  // OpenAI; Groq, NVIDIA NIM and Cohere; Bedrock. Of a sum with the prompt's tokens it is another matter.
  /(?<!\+ .?)\bmax(?:imum)?[ _](?:\w+_)?tokens\b.{0,80}?(?:<=|at most|or equal to|(?:not|cannot) be (?:greater|larger|more) than|limit of)\W{0,3}(?<most>\d{1,9})/i,
  // DeepSeek (mnfst/llm-gateway#1177), DashScope; Anthropic.
  /(?:range of max_tokens (?:is|should be) \[1, ?|max_tokens: \d{1,9} > )(?<most>\d{1,9})/i,
  // Anthropic, of a prompt, what was asked for, and the window.
  /exceed context limit: (?<prompt>\d{1,9}) \+ \d{1,9} > (?<window>\d{1,9})/,
  // vLLM (farion1231/cc-switch#1022); OpenAI, vLLM before 0.7 and SGLang.
  /context length (?:is|of) (?<window>\d{1,9}) tokens\b.{0,80}?\b(?<prompt>\d{1,9}) (?:input tokens|(?:tokens from the input|in the) messages)/,
];

/** Fewer are no answer: another upstream may have a larger window. */
const LEAST_TOKENS = 4096;
/** Of a small window. */
const LEAST_SHARE = 1 / 4;

/** The limit that a refusal names; null if it names none. */
export function tokenLimitIn(text: string): TokenLimit | null {
  const found = WORDS.map((words) => words.exec(text)?.groups).find((all) => all !== undefined);
  const { least, most, window, prompt } = found ?? {};
  if (least !== undefined) return `at_least_${Number(least)}`;
  if (most !== undefined) return `at_most_${Number(most)}`;
  const left = Number(window) - Number(prompt);
  return left >= Math.min(LEAST_TOKENS, Number(window) * LEAST_SHARE) ? `at_most_${left}` : null;
}

export const isTokenLimit = (adjustment: string): adjustment is TokenLimit =>
  adjustment.startsWith('at_');

/** Within a limit, where the body's own is beyond it. */
export const withinLimit =
  (tokens: TokenLimit): BodyChange =>
  (body) => {
    const [, side, limit = ''] = tokens.split('_');
    const isBeyond = (asked: unknown) =>
      typeof asked === 'number' && (side === 'most' ? asked > +limit : asked < +limit);
    const beyond = FIELDS.filter((field) => isBeyond(smallValueOf(body, field)));
    const values = Object.fromEntries(beyond.map((field) => [field, limit]));
    return beyond.length === 0 ? null : withMembers(body, values);
  };
