import { isObject } from '#shared/objects.ts';

export type Substance =
  | { readonly kind: 'content' }
  /** Well-formed without content: a role, a finish reason, usage. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'error'; readonly message: string };

type Json = Readonly<Record<string, unknown>>;

/** Fields of generated text, under the names that engines use. */
export const TEXT_FIELDS: readonly string[] = [
  'content',
  'reasoning_content',
  'reasoning',
  'refusal',
];

/** Judges a chunk of a stream (`choices[].delta`) or a whole answer (`choices[].message`). */
export function substanceOf(value: unknown): Substance {
  if (!isObject(value)) return { kind: 'error', message: 'not a JSON object' };
  const error = errorMessage(value);
  if (error !== null) return { kind: 'error', message: error };
  const choices = value['choices'];
  if (!Array.isArray(choices)) return { kind: 'nothing' };
  return choices.some(choiceHasContent) ? { kind: 'content' } : { kind: 'nothing' };
}

/** The message of a top-level `error`, whatever its shape; null when there is none. */
export function errorMessage(value: Json): string | null {
  const error = value['error'];
  if (error === undefined || error === null || error === false) return null;
  if (typeof error === 'string') return error;
  if (isObject(error) && typeof error['message'] === 'string') return error['message'];
  return (writeJson(error) ?? 'an error nested too deep').slice(0, 500);
}

/** Whether a chunk completes a choice. */
export function isLastChunk(value: unknown): boolean {
  if (!isObject(value) || !Array.isArray(value['choices'])) return false;
  return value['choices'].some((choice) => {
    const reason: unknown = isObject(choice) ? choice['finish_reason'] : null;
    return typeof reason === 'string' && reason !== 'error';
  });
}

function choiceHasContent(choice: unknown): boolean {
  if (!isObject(choice)) return false;
  // Some engines end with this after a crash or a filter of their own; it is no answer.
  if (choice['finish_reason'] === 'error') return false;
  const body = choice['delta'] ?? choice['message'];
  return isObject(body) && hasContent(body);
}

function hasContent(body: Json): boolean {
  const text = TEXT_FIELDS.some((field) => {
    const value = body[field];
    return (
      (typeof value === 'string' && value !== '') || (Array.isArray(value) && value.length > 0)
    );
  });
  const calls = body['tool_calls'];
  return (
    text ||
    (Array.isArray(calls) && calls.length > 0) ||
    isObject(body['function_call']) ||
    isObject(body['audio'])
  );
}

/** Null if the value is nested too deep to be written, as an upstream's can be. */
export function writeJson(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}
