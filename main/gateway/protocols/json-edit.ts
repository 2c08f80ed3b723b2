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
  /** Where the elements of a list end, from its start on; of a long list only the first 4,096. */
  readonly ends: readonly number[];
}

/** A JSON object, as bytes. */
export interface JsonBody {
  readonly bytes: Buffer;
  readonly members: readonly Member[];
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
  #at = 0;
  /** The brackets and braces that are open. */
  readonly #nest: number[] = [];
  #isText = false;
  #isOver = false;
  #isFaulty = false;
  /** Where the present member or element begins, and its colon. */
  #start = 0;
  #colon = -1;
  /** Where the present element of the member's list begins. */
  #inner = 0;
  #last: Span | null = null;
  #ends: number[] = NO_ENDS;

  /** Goes on to the end of `bytes`, which are all that have come; false once they cannot become JSON. */
  push(bytes: Buffer): boolean {
    while (this.#at < bytes.length && !this.#isFaulty) {
      if (this.#isText) this.#text(bytes);
      else this.#step(bytes, bytes[this.#at++] ?? 0);
    }
    return !this.#isFaulty;
  }

  /** Whether all of `bytes` is one object or list. */
  isWhole(bytes: Buffer): boolean {
    return this.push(bytes) && this.#isOver;
  }

  #step(bytes: Buffer, byte: number): void {
    const depth = this.#nest.length;
    if (depth === 0) this.#outside(byte);
    else if (byte === QUOTE) this.#isText = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#open(byte);
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#close(bytes, byte);
    else if (byte === COLON && depth === 1 && this.#colon === -1) this.#colon = this.#at;
    else if (byte === COMMA && depth === 1) this.#member(bytes, this.#at - 1, true);
    else if (byte === COMMA && depth === 2) this.#element(bytes, this.#at - 1);
  }

  #outside(byte: number): void {
    if (isBlank(byte)) return;
    this.#isFaulty = this.#isOver || (byte !== OPEN_BRACE && byte !== OPEN_BRACKET);
    if (!this.#isFaulty) this.#open(byte);
  }

  #open(byte: number): void {
    this.#nest.push(byte);
    if (this.#nest.length === 1) this.#start = this.#at;
    if (this.#nest.length === 2) this.#inner = this.#at;
    this.#isFaulty = this.#nest.length > MAX_DEPTH;
  }

  #close(bytes: Buffer, byte: number): void {
    const depth = this.#nest.length;
    if (depth === 1) this.#member(bytes, this.#at - 1, this.members.length > 0);
    if (depth === 2) this.#element(bytes, this.#at - 1);
    // In ASCII a closing bracket is its opening one plus two.
    this.#isFaulty ||= this.#nest.pop() !== byte - 2;
    this.#isOver = depth === 1;
  }

  #text(bytes: Buffer): void {
    const quote = endOfText(bytes, this.#at);
    this.#isText = quote === -1;
    this.#at = quote === -1 ? bytes.length : quote + 1;
  }

  #element(bytes: Buffer, at: number): void {
    const span = trimmed(bytes, this.#inner, at);
    this.#inner = at + 1;
    if (this.#nest[1] !== OPEN_BRACKET || span.start === span.end) return;
    this.#last = span;
    if (this.#ends === NO_ENDS) this.#ends = [];
    if (this.#ends.length < MAX_ENDS) this.#ends.push(span.end);
  }

  /** Nothing may stand where nothing has to. */
  #member(bytes: Buffer, end: number, mustBe: boolean): void {
    const whole = trimmed(bytes, this.#start, end);
    const isNamed = this.#nest[0] === OPEN_BRACE;
    const value = isNamed ? trimmed(bytes, this.#colon, end) : whole;
    const key = isNamed ? nameIn(bytes, whole.start, this.#colon - 1) : '';
    const [last, ends] = [this.#last, this.#ends.map((each) => each - value.start)];
    this.#start = end + 1;
    this.#colon = -1;
    this.#last = null;
    this.#ends = NO_ENDS;
    if (whole.start === whole.end) this.#isFaulty ||= mustBe;
    else if (key === null || value.start >= value.end || this.members.length === MAX_MEMBERS)
      this.#isFaulty = true;
    else this.members.push({ key, nameStart: whole.start, ...value, last, ends });
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

/** Of a value that is no list; one for all. */
const NO_ENDS: number[] = [];

const isBlank = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function trimmed(bytes: Buffer, from: number, to: number): Span {
  let [start, end] = [from, to];
  while (start < end && isBlank(bytes[start] ?? 0)) start += 1;
  while (end > start && isBlank(bytes[end - 1] ?? 0)) end -= 1;
  return { start, end };
}

/** Null for what is no name. */
function nameIn(bytes: Buffer, start: number, end: number): string | null {
  const name = end - start > MAX_SMALL_BYTES ? null : parseJson(bytes.toString('utf8', start, end));
  return typeof name === 'string' ? name : null;
}

/** The members of the outermost object; null if the text is no object, as far as a scan tells, or has too many members. */
export function membersOf(bytes: Buffer): readonly Member[] | null {
  const scan = new JsonScan();
  return scan.isWhole(bytes) && isObjectText(bytes) ? scan.members : null;
}

/** As `membersOf`, in slices with a turn of the event loop after each. */
export async function membersInTurns(bytes: Buffer): Promise<readonly Member[] | null> {
  const scan = new JsonScan();
  for (let end = MAX_BYTES_AT_ONCE; end < bytes.length; end += MAX_BYTES_AT_ONCE) {
    if (!scan.push(bytes.subarray(0, end))) break;
    await setImmediate();
  }
  return scan.isWhole(bytes) && isObjectText(bytes) ? scan.members : null;
}

export const isObjectText = (bytes: Buffer) =>
  bytes[trimmed(bytes, 0, bytes.length).start] === OPEN_BRACE;

/** As `membersOf`; none if the text is not an object. */
export const topLevelMembers = (bytes: Buffer): readonly Member[] => membersOf(bytes) ?? [];

/** Longer values are not parsed by `smallValueOf`. */
const MAX_SMALL_BYTES = 64 * 1024;

/** In place of a value that is too long to be parsed. */
export const TOO_LONG = Symbol('too long');

/** Undefined if there is no such member, `TOO_LONG` for a long value. */
export function smallValueOf(bytes: Buffer, members: readonly Member[], key: string): unknown {
  const member = members.findLast((each) => each.key === key);
  return member === undefined ? undefined : smallValueAt(bytes, member);
}

/** As `smallValueOf`, of several members. */
export function smallValuesOf(
  bytes: Buffer,
  members: readonly Member[],
  keys: readonly string[],
): unknown[] {
  return keys.map((key) => smallValueOf(bytes, members, key));
}

export function smallValueAt(bytes: Buffer, { start, end }: Span): unknown {
  if (end - start > MAX_SMALL_BYTES) return TOO_LONG;
  return parseJson(bytes.toString('utf8', start, end));
}

export function isText(bytes: Buffer, { start }: Span): boolean {
  return bytes[start] === QUOTE;
}

/** The object without some of its members; the bytes of all others stay. */
export function withoutMembers(
  bytes: Buffer,
  members: readonly Member[],
  isDropped: (member: Member) => boolean,
): Buffer {
  const kept = members.filter((member) => !isDropped(member));
  if (kept.length === members.length) return bytes;
  return enclosed(
    ['{', '}'],
    kept.map(({ nameStart, end }) => bytes.subarray(nameStart, end)),
  );
}

/** A change of a body; null if there is nothing to change. */
export type BodyChange = (bytes: Buffer, members: readonly Member[]) => Buffer | null;

/** Elements or members within brackets or braces. */
export function enclosed(
  [open, close]: readonly [string, string],
  parts: readonly Buffer[],
): Buffer {
  const list = parts.flatMap((part, at) => [Buffer.from(at === 0 ? open : ','), part]);
  return Buffer.concat([...(list.length === 0 ? [Buffer.from(open)] : list), Buffer.from(close)]);
}

/**
 * Sets members of the outermost object and leaves all other bytes unchanged: key order, number spelling, escapes
 * and white space survive, unlike with parse and stringify.
 */
export function withMembers(
  bytes: Buffer,
  members: readonly Member[],
  values: Readonly<Record<string, string | Buffer>>,
): Buffer {
  const parts: Buffer[] = [];
  let copied = 0;
  for (const { key, start, end } of members) {
    // The caller may use a name that every object inherits.
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    if (value === undefined) continue;
    parts.push(
      bytes.subarray(copied, start),
      typeof value === 'string' ? Buffer.from(value) : value,
    );
    copied = end;
  }
  const added = Object.entries(values)
    .filter(([name]) => !members.some(({ key }) => key === name))
    .map(([name, value]) => `${JSON.stringify(name)}:${value.toString()}`);
  const close = added.length === 0 ? bytes.length : bytes.lastIndexOf(CLOSE_BRACE);
  const inserted = (members.length === 0 || added.length === 0 ? '' : ',') + added.join(',');
  parts.push(bytes.subarray(copied, close), Buffer.from(inserted), bytes.subarray(close));
  return Buffer.concat(parts);
}
