export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** The value of a JSON text; undefined if it is invalid, or too heavy to parse in one turn of the event loop. */
export function parseJson(text: string, reviver?: Reviver): unknown {
  if (isHeavyJson(text)) return undefined;
  try {
    return reviver === undefined ? (JSON.parse(text) as unknown) : JSON.parse(text, reviver);
  } catch {
    return undefined;
  }
}

/**
 * As `parseJson`, for what is written again: integers that a number cannot hold, such as ids of 64 bits, are written as
 * they came. They are no numbers until then.
 */
export const parseExactJson = (text: string): unknown =>
  LONG_INTEGER.test(text) ? parseJson(text, asWritten) : parseJson(text);

const asWritten: Reviver = (_key, value, { source = '' }) =>
  typeof value === 'number' && INTEGER.test(source) && !Number.isSafeInteger(value)
    ? JSON.rawJSON(source)
    : value;

const LONG_INTEGER = /\d{16}/;
const INTEGER = /^-?\d+$/;

declare global {
  /** Of ECMAScript 2026 (tc39/proposal-json-parse-with-source), which TypeScript 7.0 does not know. */
  interface JSON {
    parse(text: string, reviver: Reviver): unknown;
    rawJSON(text: string): object;
  }
}

/** Null if the value is nested too deep to be written, as an upstream's can be. */
export function writeJson(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

/** The value at a path of names in nested JSON objects; undefined if there is none. */
export function memberOf(value: unknown, ...names: readonly string[]): unknown {
  let inner = value;
  for (const name of names)
    inner = isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined;
  return inner;
}

/** A string that is not blank, trimmed; null for anything else. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

/** A finite number, also written as a string; null for anything else. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'string' && value.trim() === '') return null;
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

export function booleanOf(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

/** The elements of a JSON array; an empty list for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** Requests and answers have a dozen levels; from some 5000 on, V8 cannot write a value any more. */
const MAX_DEPTH = 1000;

/** True for a parsed value nested too deep to be written again. */
export function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}

/**
 * In values, of which each takes about 150 ns to parse, so 20 ms in all. The length says little: 4 MB take 15 ms
 * as one string and half a second as a million empty lists.
 */
const MAX_WEIGHT = 131_072;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/**
 * Whether a JSON text from outside takes too long to parse in one turn of the event loop. Counts the brackets,
 * commas and colons outside of strings.
 */
export function isHeavyJson(text: string, maxWeight = MAX_WEIGHT): boolean {
  // No character weighs more than two.
  if (text.length * 2 <= maxWeight) return false;
  let weight = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at + 1);
    else if (code === COMMA || code === OPEN_BRACKET || code === OPEN_BRACE) weight += 1;
    // A name costs more than a value: V8 interns it.
    else if (code === COLON) weight += 2;
    else continue;
    if (weight > maxWeight) return true;
  }
  return false;
}

/** The index of the closing quote of a string whose first character is at `from`, or the end of the text. */
function endOfString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote;
    while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    if ((quote - before) % 2 === 0) return quote;
  }
  return text.length;
}
