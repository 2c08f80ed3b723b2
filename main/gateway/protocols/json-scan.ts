import { setImmediate } from 'node:timers/promises';

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
  /** Where the elements of a list end, from its start on; of a body only the first 4,096 in all. */
  readonly ends: readonly number[];
}

export type Members =
  | { readonly kind: 'object'; readonly members: readonly Member[] }
  /** JSON, but not an object. */
  | { readonly kind: 'other' }
  /** Not JSON from byte `position` on. */
  | { readonly kind: 'invalid'; readonly position: number }
  /** Too many members, too long a name or too deep a nest. */
  | { readonly kind: 'too_much' };

/** Scanning this many bytes takes a millisecond or two; longer bodies are read over several turns of the event loop. */
export const MAX_BYTES_AT_ONCE = 256 * 1024;

/** The members of the outermost object, in one go. */
export const membersOf = (bytes: Buffer): Members => new JsonScan('object').end(bytes);

/** As `membersOf`, in slices with a turn of the event loop after each. */
export async function membersInTurns(bytes: Buffer): Promise<Members> {
  const scan = new JsonScan('object');
  for (let end = MAX_BYTES_AT_ONCE; end < bytes.length; end += MAX_BYTES_AT_ONCE) {
    if (!scan.push(bytes.subarray(0, end))) break;
    await setImmediate();
  }
  return scan.end(bytes);
}

/** As `membersOf`; none if the text is not an object. */
export function topLevelMembers(bytes: Buffer): readonly Member[] {
  const found = membersOf(bytes);
  return found.kind === 'object' ? found.members : [];
}

/** A request has about forty. A million would take 100 MB. */
const MAX_MEMBERS = 10_000;
const MAX_KEY_BYTES = 64 * 1024;
/** More messages than conversations have. */
const MAX_ENDS = 4096;
/** Each level takes a few bytes of memory. */
const MAX_DEPTH = 1024 * 1024;
const MAX_SCALAR_BYTES = 64 * 1024;
/** Of a value that is no list; one for all. */
const NO_ENDS: number[] = [];
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];
const [PLUS, MINUS, DOT, ZERO] = [0x2b, 0x2d, 0x2e, 0x30];
const [LETTER_A, LETTER_E, LETTER_U] = [0x61, 0x65, 0x75];

/**
 * Finds the outermost members of a JSON text (RFC 8259), or the elements of a list, while the text grows. All of it is
 * checked and none of it parsed: that would block the event loop for as long as a caller likes.
 */
export class JsonScan {
  readonly members: Member[] = [];
  readonly #wanted: number;
  /** The opening bracket or brace of each list and object around. */
  readonly #nest: number[] = [];
  /** Where the present values at depths 0, 1 and 2 begin. */
  readonly #starts = [0, 0, 0];
  #next:
    'value' | 'first_value' | 'name' | 'first_name' | 'colon' | 'after_value' | 'text' | 'scalar' =
    'value';
  #at = 0;
  #fault: 'invalid' | 'too_much' | null = null;
  /** Of the present text or scalar. */
  #start = 0;
  #isName = false;
  #key = '';
  #nameStart = 0;
  #last: Span | null = null;
  #ends = NO_ENDS;
  #keptEnds = 0;

  constructor(wanted: 'object' | 'list') {
    this.#wanted = wanted === 'object' ? OPEN_BRACE : OPEN_BRACKET;
  }

  /** Goes on to the end of `bytes`, which are all that have come; false once they cannot become JSON. */
  push(bytes: Buffer): boolean {
    let goesOn = this.#fault === null;
    while (goesOn && this.#at < bytes.length) goesOn = this.#step(bytes);
    return this.#fault === null;
  }

  /** `bytes`: the whole text. */
  end(bytes: Buffer): Members {
    this.push(bytes);
    if (this.#fault === null && this.#next === 'scalar') this.#scalar(bytes, true);
    if (this.#fault === 'too_much') return { kind: 'too_much' };
    const isWhole = this.#next === 'after_value' && this.#nest.length === 0;
    if (this.#fault === 'invalid') return { kind: 'invalid', position: this.#at };
    if (!isWhole) return { kind: 'invalid', position: bytes.length };
    const isWanted = bytes[this.#starts[0] ?? 0] === this.#wanted;
    return isWanted ? { kind: 'object', members: this.members } : { kind: 'other' };
  }

  /** False if it waits for more bytes, or after a fault. */
  #step(bytes: Buffer): boolean {
    if (this.#next === 'text') return this.#text(bytes);
    if (this.#next === 'scalar') return this.#scalar(bytes, false);
    const byte = bytes[this.#at] ?? 0;
    if (isBlank(byte)) {
      this.#at += 1;
      return true;
    }
    switch (this.#next) {
      case 'after_value':
        return byte === COMMA ? this.#comma() : this.#close(byte);
      case 'colon':
        if (byte !== COLON) return this.#fail('invalid');
        this.#next = 'value';
        this.#at += 1;
        return true;
      case 'first_name':
      case 'name':
        if (byte === QUOTE) return this.#beginText(true);
        return this.#next === 'name' ? this.#fail('invalid') : this.#close(byte);
      case 'first_value':
        return byte === CLOSE_BRACKET ? this.#close(byte) : this.#begin(byte);
      case 'value':
        return this.#begin(byte);
    }
  }

  #fail(fault: 'invalid' | 'too_much'): false {
    this.#fault = fault;
    return false;
  }

  #begin(byte: number): boolean {
    const depth = this.#nest.length;
    if (depth < 3) this.#starts[depth] = this.#at;
    if (byte === QUOTE) return this.#beginText(false);
    if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET) {
      this.#start = this.#at;
      this.#next = 'scalar';
      return true;
    }
    if (depth === MAX_DEPTH) return this.#fail('too_much');
    this.#nest.push(byte);
    this.#next = byte === OPEN_BRACE ? 'first_name' : 'first_value';
    this.#at += 1;
    return true;
  }

  #comma(): boolean {
    const outer = this.#nest.at(-1);
    if (outer === undefined) return this.#fail('invalid');
    this.#next = outer === OPEN_BRACE ? 'name' : 'value';
    this.#at += 1;
    return true;
  }

  #close(byte: number): boolean {
    // In ASCII a closing bracket is its opening one plus two.
    if (this.#nest.at(-1) !== byte - 2) return this.#fail('invalid');
    this.#nest.pop();
    this.#at += 1;
    return this.#ended(this.#at);
  }

  /** A value has ended. */
  #ended(end: number): boolean {
    const depth = this.#nest.length;
    const [, start = 0, inner = 0] = this.#starts;
    this.#next = 'after_value';
    if (depth === 2 && this.#nest[1] === OPEN_BRACKET) {
      this.#last = { start: inner, end };
      if ((this.#keptEnds += 1) > MAX_ENDS) return true;
      if (this.#ends === NO_ENDS) this.#ends = [end - start];
      else this.#ends.push(end - start);
    }
    if (depth !== 1 || this.#nest[0] !== this.#wanted) return true;
    const isObject = this.#wanted === OPEN_BRACE;
    if (isObject && this.members.length === MAX_MEMBERS) return this.#fail('too_much');
    const { last, ends } = { last: this.#last, ends: this.#ends };
    this.members.push({ key: this.#key, nameStart: this.#nameStart, start, end, last, ends });
    this.#last = null;
    this.#ends = NO_ENDS;
    return true;
  }

  #beginText(isName: boolean): boolean {
    this.#isName = isName;
    this.#start = this.#at;
    this.#next = 'text';
    this.#at += 1;
    return true;
  }

  #text(bytes: Buffer): boolean {
    this.#at = endOfText(bytes, this.#at);
    if (isCut(bytes, this.#at)) return false;
    if (bytes[this.#at] !== QUOTE) return this.#fail('invalid');
    this.#at += 1;
    if (!this.#isName) return this.#ended(this.#at);
    this.#next = 'colon';
    return this.#nest.length !== 1 || this.#named(bytes, this.#start, this.#at);
  }

  #named(bytes: Buffer, start: number, end: number): boolean {
    if (end - start > MAX_KEY_BYTES) return this.#fail('too_much');
    this.#key = JSON.parse(bytes.toString('utf8', start, end)) as string;
    this.#nameStart = start;
    return true;
  }

  #scalar(bytes: Buffer, isEnd: boolean): boolean {
    let at = this.#at;
    while (at < bytes.length && !endsScalar(bytes[at] ?? 0)) at += 1;
    this.#at = at;
    const isOver = isEnd || at < bytes.length;
    if (!isOver && at - this.#start <= MAX_SCALAR_BYTES) return false;
    if (isScalar(bytes, this.#start, at)) return this.#ended(at);
    this.#at = this.#start;
    return this.#fail('invalid');
  }
}

const isBlank = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39;

const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));
const HEX = /^[\da-f]{4}$/i;

/** Where a string's bytes end: at a quote, at what is not allowed in one, or at what is cut off. */
function endOfText(bytes: Buffer, from: number): number {
  const { length } = bytes;
  for (let at = from; ;) {
    let byte = 0;
    for (; at < length; at += 1) {
      byte = bytes[at] ?? 0;
      if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break;
    }
    if (at === length || byte !== BACKSLASH) return at;
    const isCode = bytes[at + 1] === LETTER_U;
    const isEscape = isCode
      ? HEX.test(bytes.toString('latin1', at + 2, at + 6))
      : ESCAPES.has(bytes[at + 1] ?? 0);
    if (!isEscape) return at;
    at += isCode ? 6 : 2;
  }
}

const isCut = (bytes: Buffer, at: number): boolean =>
  at + (bytes[at] === BACKSLASH ? (bytes[at + 1] === LETTER_U ? 5 : 1) : 0) >= bytes.length;

const endsScalar = (byte: number) =>
  byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isBlank(byte);

const LITERALS = new Set(['true', 'false', 'null']);

function isScalar(bytes: Buffer, start: number, end: number): boolean {
  if ((bytes[start] ?? 0) > LETTER_A) return LITERALS.has(bytes.toString('latin1', start, end));
  let at = bytes[start] === MINUS ? start + 1 : start;
  const integer = at;
  at = endOfDigits(bytes, at, end);
  if (at === integer || (bytes[integer] === ZERO && at > integer + 1)) return false;
  if (at < end && bytes[at] === DOT) {
    const fraction = at + 1;
    at = endOfDigits(bytes, fraction, end);
    if (at === fraction) return false;
  }
  if (at === end) return true;
  // An upper-case letter plus 32 is the lower-case one.
  if (((bytes[at] ?? 0) | 0x20) !== LETTER_E) return false;
  const sign = bytes[at + 1];
  const power = sign === PLUS || sign === MINUS ? at + 2 : at + 1;
  return power < end && endOfDigits(bytes, power, end) === end;
}

function endOfDigits(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && isDigit(bytes[at] ?? 0)) at += 1;
  return at;
}
