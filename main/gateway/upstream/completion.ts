import { isObject } from '#shared/objects.ts';
import { isHeavyJson } from '../../platform/json.ts';

/** What a parsed JSON value from an upstream amounts to, for a chat completion. */
export type Substance =
  | { readonly kind: 'content' }
  /** Well-formed, but nothing for the caller to read: a role, a finish reason, usage. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'error'; readonly message: string };

type Json = Readonly<Record<string, unknown>>;

/** Text that a model may give, under the names that engines use for it. */
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

/** Whether a chunk says that a choice is complete. */
export function isLastChunk(value: unknown): boolean {
  if (!isObject(value) || !Array.isArray(value['choices'])) return false;
  return value['choices'].some((choice) => {
    const reason: unknown = isObject(choice) ? choice['finish_reason'] : null;
    return typeof reason === 'string' && reason !== 'error';
  });
}

function choiceHasContent(choice: unknown): boolean {
  if (!isObject(choice)) return false;
  // Engines are told to stop with this by a filter or a crash of their own; it is no answer.
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

/** Parses JSON from an upstream; undefined when it is none, or so much that it would hold up everybody else. */
export function parseJson(text: string): unknown {
  if (isHeavyJson(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Writes a parsed value as JSON; null where its nest is too deep for that, as an upstream can make it. */
export function writeJson(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}
