/** Where a value stands in the bytes of a JSON text. */
export interface Span {
  readonly start: number;
  /** One past its last byte. */
  readonly end: number;
}

/** Where the value of one member of a JSON object stands. */
export interface Member extends Span {
  readonly key: string;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Finds the members of the outermost object. `bytes` must be valid JSON with an object outermost:
 * the scan trusts that, never recurses, and takes time in proportion to the length.
 */
export function topLevelMembers(bytes: Buffer): Member[] {
  const members: Member[] = [];
  let at = bytes.indexOf(OPEN_BRACE) + 1;
  for (;;) {
    const keyStart = bytes.indexOf(QUOTE, at);
    // Behind the last member only the closing brace and blanks are left.
    if (keyStart === -1) return members;
    const keyEnd = endOfString(bytes, keyStart);
    const start = skipBlanks(bytes, bytes.indexOf(0x3a, keyEnd) + 1);
    const end = endOfValue(bytes, start);
    members.push({
      key: JSON.parse(bytes.toString('utf8', keyStart, keyEnd)) as string,
      start,
      end,
    });
    at = end;
  }
}

/** Finds the elements of the array whose bracket stands at `start`; trusts the bytes as above. */
export function elementsAt(bytes: Buffer, start: number): Span[] {
  const elements: Span[] = [];
  let at = skipBlanks(bytes, start + 1);
  while (bytes[at] !== CLOSE_BRACKET) {
    const end = endOfValue(bytes, at);
    elements.push({ start: at, end });
    at = skipBlanks(bytes, end);
    if (bytes[at] === COMMA) at = skipBlanks(bytes, at + 1);
  }
  return elements;
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
}

/** `start` is at the opening quote; one past the closing quote comes back. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = bytes.indexOf(QUOTE, at);
    let before = quote - 1;
    while (bytes[before] === BACKSLASH) before -= 1;
    if ((quote - before) % 2 === 1) return quote + 1;
    at = quote + 1;
  }
}

function endOfValue(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return endOfString(bytes, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNest(bytes, start);
  let at = start;
  for (;;) {
    const byte = bytes[at];
    if (byte === undefined || byte <= 0x20 || byte === COMMA) return at;
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) return at;
    at += 1;
  }
}

function endOfNest(bytes: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  for (;;) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
}

/**
 * Sets members of the outermost object, leaving every other byte as it was: key order, number
 * spelling, escapes and blanks survive, as they would not through parse and stringify.
 */
export function withMembers(
  bytes: Buffer,
  members: readonly Member[],
  values: Readonly<Record<string, string>>,
): Buffer {
  const parts: Buffer[] = [];
  let copied = 0;
  const missing = new Set(Object.keys(values));
  for (const { key, start, end } of members) {
    // The caller may have named a member as something that every object inherits.
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    if (value === undefined) continue;
    parts.push(bytes.subarray(copied, start), Buffer.from(value));
    copied = end;
    missing.delete(key);
  }
  if (missing.size === 0) return Buffer.concat([...parts, bytes.subarray(copied)]);
  const close = bytes.lastIndexOf(CLOSE_BRACE);
  const added = [...missing].map((key) => `${JSON.stringify(key)}:${values[key]}`).join(',');
  const comma = members.length === 0 ? '' : ',';
  return Buffer.concat([
    ...parts,
    bytes.subarray(copied, close),
    Buffer.from(comma + added),
    bytes.subarray(close),
  ]);
}
