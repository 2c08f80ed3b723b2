import { isObject } from '#shared/objects.ts';

/** The value of a JSON text; null when it is none, or so much that parsing it would hold up everybody else. */
export function parseJson(text: string): unknown {
  if (isHeavyJson(text)) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** A member of a JSON object, by the names that lead to it; undefined where there is none. */
export function memberOf(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (inner, name) => (isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined),
    value,
  );
}

/** A text that says something; null for anything else. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

/** A finite number, also where a tool writes it as text; null for anything else. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'string' && value.trim() === '') return null;
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** The elements of a JSON array; none for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/**
 * What parsing a text may cost: values and names, in about 150 ns each, which is 20 ms for so many. The
 * length says little: four megabytes are 15 ms as one text and half a second as a million empty lists.
 */
const MAX_WEIGHT = 131_072;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/**
 * Whether a JSON text from outside is too much to be parsed between two turns of the event loop: too many
 * values, or a nest as deep. Only brackets, commas and colons outside of texts are counted, one by one.
 */
export function isHeavyJson(text: string, maxWeight = MAX_WEIGHT): boolean {
  // Nothing weighs more than two for each character.
  if (text.length * 2 <= maxWeight) return false;
  let weight = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at + 1);
    else if (code === COMMA || code === OPEN_BRACKET || code === OPEN_BRACE) weight += 1;
    // A name costs more than a value: it is looked up among all names that there are.
    else if (code === COLON) weight += 2;
    else continue;
    if (weight > maxWeight) return true;
  }
  return false;
}

/** To find the next quote is a call into the engine: dear beside so many characters, cheap beside a million. */
const MAX_LOOKED_AT = 32;

/** The closing quote of the text whose first character is at `from`, or the end where there is none. */
function endOfText(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    for (const near = at + MAX_LOOKED_AT; at < near; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return at;
      if (code === BACKSLASH) at += 1;
    }
    const quote = text.indexOf('"', at);
    if (quote === -1) return text.length;
    let before = quote;
    while (before > at && text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    if ((quote - before) % 2 === 0) return quote;
    at = quote + 1;
  }
  return at;
}
