import { smallValueOf, withMembers } from '../protocols/json-edit.ts';
import { topLevelMembers } from '../protocols/json-scan.ts';

/** A request that may have more tokens for its answer than a model can give is asked for fewer. */
export type TokenLimit = `at_most_${number}`;

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

/** The limit that would answer a refusal of the one that `body` has; null if there is none, or it was tried. */
export function tokenLimitIn(
  text: string,
  body: Buffer,
  made: ReadonlySet<string>,
): TokenLimit | null {
  const most = mostIn(text);
  if (most === null || [...made].some((each) => each.startsWith(PREFIX))) return null;
  const limit: TokenLimit = `${PREFIX}${most}`;
  return withTokenLimit(body, new Set([limit])) === body ? null : limit;
}

const PREFIX = 'at_most_';

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

/** The body with the limit that is among the changes, where its own is larger. */
export function withTokenLimit(body: Buffer, made: ReadonlySet<string>): Buffer {
  const limit = [...made].find((each) => each.startsWith(PREFIX));
  if (limit === undefined) return body;
  const most = Number(limit.slice(PREFIX.length));
  const members = topLevelMembers(body);
  const larger = FIELDS.filter((field) => {
    const asked = smallValueOf(body, members, field);
    return typeof asked === 'number' && asked > most;
  });
  if (larger.length === 0) return body;
  return withMembers(body, members, Object.fromEntries(larger.map((field) => [field, `${most}`])));
}
