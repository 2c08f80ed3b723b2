import { isObject, listOf, memberOf } from '../../../platform/json.ts';
import { errorIn, wordsOnly, type UpstreamError } from '../upstream-error.ts';
import { endOf } from './finish.ts';

/** What an event, or a whole answer, brings. */
export type Substance =
  | { readonly kind: 'content' }
  /** Well-formed without content: a role, a finish reason, usage. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'error'; readonly error: UpstreamError };

export const CONTENT: Substance = { kind: 'content' };
export const NOTHING: Substance = { kind: 'nothing' };

type Json = Readonly<Record<string, unknown>>;

/** Fields of generated text, under the names that engines use. */
export const TEXT_FIELDS: readonly string[] = [
  'content',
  'reasoning_content',
  'reasoning',
  // GitHub Copilot (BerriAI/litellm#35021).
  'reasoning_text',
  'refusal',
];

const NOT_AN_OBJECT: Substance = { kind: 'error', error: wordsOnly('not a JSON object') };

/** Judges a chunk of a stream (`choices[].delta`) or a whole answer (`choices[].message`). */
export function substanceOf(value: unknown): Substance {
  const error = errorIn(value);
  if (error !== null) return { kind: 'error', error };
  if (!isObject(value)) return NOT_AN_OBJECT;
  const choices = listOf(value['choices']).filter(isObject);
  // Some engines end with this after a crash or a filter of their own; it is no answer.
  const broken = choices.find((choice) => endOf(choice['finish_reason']) === 'broken');
  if (broken !== undefined) return { kind: 'error', error: wordsOnly(brokenOff(broken)) };
  return choices.some(hasContent) ? CONTENT : NOTHING;
}

export const brokenOff = (choice: unknown): string =>
  `The upstream broke off its answer: ${String(memberOf(choice, 'finish_reason'))}.`;

function hasContent(choice: Json): boolean {
  const said = choice['delta'] ?? choice['message'];
  return isObject(said) && isFilled(said);
}

function isFilled(said: Json): boolean {
  return (
    TEXT_FIELDS.some((field) => isText(said[field])) ||
    isObject(said['tool_calls']) ||
    listOf(said['tool_calls']).length > 0 ||
    isObject(said['function_call']) ||
    isObject(said['audio'])
  );
}

/** Mistral sends lists of parts (symfony/ai#2424), Cloudflare a lone digit as a number (decolua/9router#1645). */
const isText = (value: unknown): boolean =>
  typeof value === 'number' ||
  ((typeof value === 'string' || Array.isArray(value)) && value.length > 0);

/** Whether a chunk completes a choice. */
export function isLastChunk(value: unknown): boolean {
  if (!isObject(value)) return false;
  return listOf(value['choices']).some((choice) => {
    const end = isObject(choice) ? endOf(choice['finish_reason']) : null;
    return end !== null && end !== 'broken';
  });
}
