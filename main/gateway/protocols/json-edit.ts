import { setImmediate } from 'node:timers/promises';
import { parseJson } from '../../platform/json.ts';

/* Bodies are changed as bytes: parse and stringify would change the order of keys, how numbers are written, escapes and blanks. */

/** Position of a value in the bytes of a JSON text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member extends Span {
  readonly key: string;
  readonly nameStart: number;
  /** The last element if the value is a non-empty list. */
  readonly last: Span | null;
  /** Where the elements of a list end; of a long list only the first 4,096. */
  readonly ends: readonly number[];
}

/** A JSON object, as bytes; without members if they are none. */
export interface JsonBody {
  readonly bytes: Buffer;
  readonly members: readonly Member[];
}

/** Its members are looked for when somebody first asks for them. */
export function bodyOf(bytes: Buffer): JsonBody {
  let known: readonly Member[] | null = null;
  return {
    bytes,
    get members() {
      return (known ??= membersOf(bytes) ?? []);
    },
  };
}

/** Scanning this many bytes takes a millisecond; longer bodies are read over several turns of the event loop. */
export const MAX_BYTES_AT_ONCE = 256 * 1024;

/** A request has about forty. A million would take 100 MB. */
const MAX_MEMBERS = 10_000;
/** More messages than conversations have. */
const MAX_ENDS = 4096;
/** Each level takes a few bytes of memory. */
const MAX_DEPTH = 1024 * 1024;
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Finds the members of the outermost object, or the elements of the outermost list, while the text grows. It sees quotes,
 * brackets, commas and colons: what stands between them is for whoever parses it to judge.
 */
export class JsonScan {
  readonly members: Member[] = [];
  /** Whether the outermost value is an object, and not a list. */
  isObject = false;
  #at = 0;
  /** The brackets and braces that are open. */
  readonly #nest: number[] = [];
  /** Where the present element or member begins, by its depth; 0 before the first. */
  readonly #starts = [0, 0, 0];
  #isText = false;
  #isFaulty = false;
  /** Behind the name of the present member; -1 before. */
  #colon = -1;
  /** What is known of the elements of its list. */
  #last: Span | null = null;
  #ends: number[] = [];

  /** Goes on to the end of `bytes`, which are all that have come; false once they cannot become JSON. */
  push(bytes: Buffer): boolean {
    while (this.#at < bytes.length && !this.#isFaulty) {
      if (this.#isText) {
        const quote = endOfText(bytes, this.#at);
        this.#isText = quote === -1;
        this.#at = quote === -1 ? bytes.length : quote + 1;
      } else this.#step(bytes, bytes[this.#at++] ?? 0);
    }
    return !this.#isFaulty;
  }

  /** Whether all of `bytes` is one object or list. */
  isWhole(bytes: Buffer): boolean {
    return this.push(bytes) && this.#nest.length === 0 && this.#starts[1] !== 0;
  }

  #step(bytes: Buffer, byte: number): void {
    const depth = this.#nest.length;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#open(byte, depth);
    else if (depth === 0) this.#isFaulty = !isBlank(byte);
    else if (byte === QUOTE) this.#isText = true;
    else if (byte === COLON && depth === 1 && this.#colon === -1) this.#colon = this.#at;
    else if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth <= 2) this.#item(bytes, depth, byte === COMMA);
      // In ASCII a closing bracket is its opening one plus two.
      if (byte !== COMMA) this.#isFaulty ||= this.#nest.pop() !== byte - 2;
    }
  }

  #open(byte: number, depth: number): void {
    // Nested too deep, or a second value behind the first.
    this.#isFaulty = depth === MAX_DEPTH || (depth === 0 && this.#starts[1] !== 0);
    if (depth === 0) this.isObject = byte === OPEN_BRACE;
    if (depth < 2) this.#starts[depth + 1] = this.#at;
    this.#nest.push(byte);
  }

  #item(bytes: Buffer, depth: number, isGoingOn: boolean): void {
    const span = trimmed(bytes, this.#starts[depth] ?? 0, this.#at - 1);
    this.#starts[depth] = this.#at;
    if (depth === 1) this.#member(bytes, span, isGoingOn || this.members.length > 0);
    else if (this.#nest[1] === OPEN_BRACKET && span.start < span.end) {
      this.#last = span;
      if (this.#ends.length < MAX_ENDS) this.#ends.push(span.end);
    }
  }

  /** Nothing may stand where nothing has to. */
  #member(bytes: Buffer, { start: nameStart, end }: Span, mustBe: boolean): void {
    const value = this.isObject ? trimmed(bytes, this.#colon, end) : { start: nameStart, end };
    const name = { start: nameStart, end: this.#colon - 1 };
    const key = this.isObject ? smallValueAt(bytes, name) : '';
    if (typeof key === 'string' && value.start < value.end && this.members.length < MAX_MEMBERS)
      this.members.push({ key, nameStart, ...value, last: this.#last, ends: this.#ends });
    else this.#isFaulty ||= mustBe || nameStart < end;
    [this.#colon, this.#last, this.#ends] = [-1, null, []];
  }
}

/** The quote at the end of a text that began before `from`; -1 if it has not come. */
export function endOfText(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let escapes = 0;
    while (bytes[at - escapes - 1] === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return -1;
}

const isBlank = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function trimmed(bytes: Buffer, from: number, to: number): Span {
  let [start, end] = [from, to];
  while (start < end && isBlank(bytes[start] ?? 0)) start += 1;
  while (end > start && isBlank(bytes[end - 1] ?? 0)) end -= 1;
  return { start, end };
}

/** The members of the outermost object; null if the text is no object, as far as a scan tells, or has too many members. */
export const membersOf = (bytes: Buffer, scan = new JsonScan()): readonly Member[] | null =>
  scan.isWhole(bytes) && scan.isObject ? scan.members : null;

/** As `membersOf`, in slices with a turn of the event loop after each. */
export async function membersInTurns(bytes: Buffer): Promise<readonly Member[] | null> {
  const scan = new JsonScan();
  for (let end = MAX_BYTES_AT_ONCE; end < bytes.length; end += MAX_BYTES_AT_ONCE) {
    if (!scan.push(bytes.subarray(0, end))) break;
    await setImmediate();
  }
  return membersOf(bytes, scan);
}

/** The last of that name counts, as in `JSON.parse`. */
export const memberAt = ({ members }: JsonBody, key: string): Member | undefined =>
  members.findLast((each) => each.key === key);

/** Longer values are not parsed by `smallValueOf`. */
const MAX_SMALL_BYTES = 64 * 1024;

/** In place of a value that is too long to be parsed. */
export const TOO_LONG = Symbol('too long');

/** Undefined if there is no such member, `TOO_LONG` for a long value. */
export function smallValueOf(body: JsonBody, key: string): unknown {
  const member = memberAt(body, key);
  return member === undefined ? undefined : smallValueAt(body.bytes, member);
}

/** As `smallValueOf`, of several members. */
export const smallValuesOf = (body: JsonBody, keys: readonly string[]): unknown[] =>
  keys.map((key) => smallValueOf(body, key));

/** Undefined if it is no JSON. */
const smallValueAt = (bytes: Buffer, { start, end }: Span): unknown =>
  end - start > MAX_SMALL_BYTES ? TOO_LONG : parseJson(bytes.toString('utf8', start, end));

/** Kinds of values, known by their first character. */
const KINDS = {
  list: (first: string, { last }: Member) => first === '[' && last !== null,
  'any list': (first: string) => first === '[',
  // More than its two quotes.
  text: (first: string, { start, end }: Member) => first === '"' && end - start > 2,
  'any text': (first: string) => first === '"',
  'text or list': (first: string, { last }: Member) => first === '"' || last !== null,
  number: (first: string) => /\d/.test(first),
  // `null` and `false` are no errors.
  error: (first: string) => first !== 'n' && first !== 'f',
};

export type MemberKind = keyof typeof KINDS;

export function hasMember(body: JsonBody, key: string, kind: MemberKind): boolean {
  const member = memberAt(body, key);
  if (member === undefined) return false;
  return KINDS[kind](String.fromCharCode(body.bytes[member.start] ?? 0), member);
}

/** A change of a body; null if there is nothing to change. */
export type BodyChange = (body: JsonBody) => JsonBody | null;

export const without =
  (key: string): BodyChange =>
  (body) =>
    memberAt(body, key) === undefined ? null : withMembers(body, { [key]: null });

/**
 * Sets members of the outermost object, removes those of null, and leaves all other bytes unchanged: key order, number
 * spelling, escapes and white space survive, unlike with parse and stringify.
 */
export function withMembers(
  { bytes, members }: JsonBody,
  values: Readonly<Record<string, string | Buffer | null>>,
): JsonBody {
  const close = bytes.lastIndexOf(CLOSE_BRACE);
  let copied = members[0]?.nameStart ?? close;
  const head = bytes.subarray(0, copied);
  const kept: Buffer[] = [];
  for (const { key, nameStart, start, end } of members) {
    // With the comma before it, but for the first.
    const from = kept.length === 0 ? nameStart : copied;
    copied = end;
    // The caller may use a name that every object inherits.
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    if (value === undefined) kept.push(bytes.subarray(from, end));
    else if (value !== null) kept.push(bytes.subarray(from, start), bufferOf(value));
  }
  const added = Object.entries(values)
    .filter(([name, json]) => json !== null && !members.some(({ key }) => key === name))
    .map(([name, json]) => `${JSON.stringify(name)}:${json?.toString()}`);
  const inserted = Buffer.from((kept.length === 0 ? added : ['', ...added]).join(','));
  const tail = bytes.subarray(copied, close);
  return bodyOf(Buffer.concat([head, ...kept, tail, inserted, bytes.subarray(close)]));
}

const bufferOf = (json: string | Buffer) => (typeof json === 'string' ? Buffer.from(json) : json);
