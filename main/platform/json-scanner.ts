/** A value of a JSON text, and where it stands. Offsets are in bytes from the beginning of the text. */
export class JsonPlace {
  /** The list or object that it is in. */
  readonly outer: JsonPlace | null;
  /** The number of lists and objects around. */
  readonly depth: number;
  /** Of a member; null if it is longer than 64 bytes, and for the elements of lists. */
  name: string | null = null;
  /** Where the name stands, with its quotes. */
  nameStart = 0;
  nameEnd = 0;
  /** Its first byte. */
  first = 0;
  start = 0;

  constructor(outer: JsonPlace | null, depth: number) {
    this.outer = outer;
    this.depth = depth;
  }
}

/** Told of the values of a JSON text, down to a depth. A place changes with the next value at its depth. */
export interface JsonListener {
  onEnd(place: JsonPlace, end: number, isEmpty: boolean): void;
}

/** Each level takes a byte of memory. */
const MAX_DEPTH = 1024 * 1024;
/** Longer than all names that listeners look for. */
const MAX_NAME_BYTES = 64;

const LETTER_U = 0x75;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The states: what may come next. */
const VALUE = 0;
const FIRST_ELEMENT = 1;
const FIRST_NAME = 2;
const NAME = 3;
const AFTER_NAME = 4;
const AFTER_VALUE = 5;
const IN_TEXT = 6;
const ESCAPED = 7;
const HEX = 8;
const LITERAL = 9;
const IN_NUMBER = 10;

const LITERALS: ReadonlyMap<number, Buffer> = new Map(
  ['null', 'true', 'false'].map((word) => [word.charCodeAt(0), Buffer.from(word)]),
);
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));

const isBlank = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39;
const isHex = (byte: number) =>
  isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);

/** The state of a parser of JSON numbers (RFC 8259, section 6). */
type NumberState = number;

/** The bytes so far are not the beginning of a number. */
const NO_NUMBER: NumberState = -1;

const MINUS = 0;
const ZERO = 1;
const INTEGER = 2;
const POINT = 3;
const FRACTION = 4;
const EXPONENT = 5;
const EXPONENT_SIGN = 6;
const POWER = 7;

/** Columns of the table. */
const OTHER = 0;
const DIGIT_0 = 1;
const DIGIT = 2;
const DOT = 3;
const LETTER_E = 4;
const SIGN = 5;

/** The next state: a row for each state, a column for each kind of byte. */
const STEPS: readonly (readonly NumberState[])[] = [
  [NO_NUMBER, ZERO, INTEGER, NO_NUMBER, NO_NUMBER, NO_NUMBER],
  [NO_NUMBER, NO_NUMBER, NO_NUMBER, POINT, EXPONENT, NO_NUMBER],
  [NO_NUMBER, INTEGER, INTEGER, POINT, EXPONENT, NO_NUMBER],
  [NO_NUMBER, FRACTION, FRACTION, NO_NUMBER, NO_NUMBER, NO_NUMBER],
  [NO_NUMBER, FRACTION, FRACTION, NO_NUMBER, EXPONENT, NO_NUMBER],
  [NO_NUMBER, POWER, POWER, NO_NUMBER, NO_NUMBER, EXPONENT_SIGN],
  [NO_NUMBER, POWER, POWER, NO_NUMBER, NO_NUMBER, NO_NUMBER],
  [NO_NUMBER, POWER, POWER, NO_NUMBER, NO_NUMBER, NO_NUMBER],
];

/** `listener` is told of the values at depths below `watched`. */
export function createJsonScanner(listener: JsonListener, watched: number): JsonScanner {
  return new JsonScanner(listener, watched);
}

/** Scans a JSON text (RFC 8259) in pieces of any size, without keeping it. */
class JsonScanner {
  readonly #listener: JsonListener;
  readonly #watched: number;
  /** One for each depth that is watched. */
  readonly #places: JsonPlace[] = [];
  #state = VALUE;
  /** The opening bracket or brace of each list and object around. */
  #nest = new Uint8Array(64);
  #depth = 0;
  #position = 0;
  #isBad = false;
  #isName = false;
  #start = 0;
  /** The name being read; null once it is too long, below the watched depths, and in values. */
  #name: string | null = null;
  #literal: Buffer = Buffer.alloc(0);
  #number = NO_NUMBER;
  /** Characters of the present literal or escape so far. */
  #count = 0;

  constructor(listener: JsonListener, watched: number) {
    this.#listener = listener;
    this.#watched = watched;
    let outer: JsonPlace | null = null;
    for (let depth = 0; depth < watched; depth += 1)
      this.#places.push((outer = new JsonPlace(outer, depth)));
  }

  /** Takes the next piece; false once the text is not JSON. */
  push(bytes: Buffer): boolean {
    if (this.#isBad) return false;
    const { length } = bytes;
    const origin = this.#position;
    let at = 0;
    while (at < length) {
      if (this.#state === IN_TEXT) {
        const end = endOfRun(bytes, at);
        if (this.#name !== null) this.#addToName(bytes, at, end);
        at = end;
        if (at === length) break;
      }
      this.#position = origin + at;
      if (!this.#take(bytes[at] ?? 0, bytes, at)) {
        this.#isBad = true;
        return false;
      }
      at += 1;
    }
    this.#position = origin + length;
    return true;
  }

  /** Whether the pieces so far are a complete JSON text. */
  end(): boolean {
    if (this.#isBad) return false;
    const isNumber = this.#state === IN_NUMBER && isWholeNumber(this.#number);
    if (isNumber) this.#endValue(false, this.#position);
    return this.#state === AFTER_VALUE && this.#depth === 0;
  }

  /** Whether it was refused only for its depth. */
  isTooDeep(): boolean {
    return this.#isBad && this.#depth === MAX_DEPTH;
  }

  /** Bytes read; after an error, those before the byte at fault. */
  position(): number {
    return this.#position;
  }

  #take(byte: number, bytes: Buffer, at: number): boolean {
    switch (this.#state) {
      case VALUE:
        return isBlank(byte) || this.#begin(byte);
      case FIRST_ELEMENT:
        if (byte === CLOSE_BRACKET) return this.#close(byte, true);
        return isBlank(byte) || this.#begin(byte);
      case FIRST_NAME:
        if (byte === CLOSE_BRACE) return this.#close(byte, true);
        return isBlank(byte) || this.#beginName(byte);
      case NAME:
        return isBlank(byte) || this.#beginName(byte);
      case AFTER_NAME:
        if (byte === COLON) this.#state = VALUE;
        return byte === COLON || isBlank(byte);
      case AFTER_VALUE:
        return this.#takeAfterValue(byte);
      default:
        return this.#takeWithin(byte, bytes, at);
    }
  }

  #takeWithin(byte: number, bytes: Buffer, at: number): boolean {
    switch (this.#state) {
      case LITERAL:
        return this.#takeLiteral(byte);
      case IN_NUMBER:
        return this.#takeNumber(byte);
      default:
        return this.#takeInText(byte, bytes, at);
    }
  }

  /** Null below the watched depths. An index beyond the array would cost more than the comparison. */
  #placeHere(): JsonPlace | null {
    return this.#depth < this.#watched ? (this.#places[this.#depth] ?? null) : null;
  }

  #begin(byte: number): boolean {
    const place = this.#placeHere();
    if (place !== null) {
      place.first = byte;
      place.start = this.#position;
    }
    if (byte === QUOTE) this.#beginText(false);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return this.#open(byte);
    else if ((this.#number = beginNumber(byte)) !== NO_NUMBER) this.#state = IN_NUMBER;
    else {
      const literal = LITERALS.get(byte);
      if (literal === undefined) return false;
      this.#literal = literal;
      this.#count = 1;
      this.#state = LITERAL;
    }
    return true;
  }

  #beginName(byte: number): boolean {
    this.#beginText(true);
    return byte === QUOTE;
  }

  #beginText(isName: boolean): void {
    this.#isName = isName;
    this.#start = this.#position;
    this.#name = isName && this.#depth < this.#watched ? '' : null;
    this.#state = IN_TEXT;
  }

  #addToName(bytes: Buffer, from: number, to: number): void {
    if (this.#name === null) return;
    const isShort = this.#name.length + to - from <= MAX_NAME_BYTES;
    this.#name = isShort ? this.#name + bytes.toString('latin1', from, to) : null;
  }

  #open(byte: number): boolean {
    if (this.#depth === MAX_DEPTH) return false;
    if (this.#depth === this.#nest.length) {
      const grown = new Uint8Array(this.#nest.length * 2);
      grown.set(this.#nest);
      this.#nest = grown;
    }
    this.#nest[this.#depth] = byte;
    this.#depth += 1;
    this.#state = byte === OPEN_BRACE ? FIRST_NAME : FIRST_ELEMENT;
    const inner = this.#placeHere();
    if (inner !== null) inner.name = null;
    return true;
  }

  #close(byte: number, isEmpty: boolean): boolean {
    // In ASCII a closing bracket is its opening one plus two.
    if (this.#depth === 0 || this.#nest[this.#depth - 1] !== byte - 2) return false;
    this.#depth -= 1;
    this.#endValue(isEmpty, this.#position + 1);
    return true;
  }

  #endValue(isEmpty: boolean, end: number): void {
    this.#state = AFTER_VALUE;
    const place = this.#placeHere();
    if (place !== null) this.#listener.onEnd(place, end, isEmpty);
  }

  #takeAfterValue(byte: number): boolean {
    if (byte === COMMA && this.#depth > 0) {
      this.#state = this.#nest[this.#depth - 1] === OPEN_BRACE ? NAME : VALUE;
      return true;
    }
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) return this.#close(byte, false);
    return isBlank(byte);
  }

  #takeInText(byte: number, bytes: Buffer, at: number): boolean {
    if (this.#state !== IN_TEXT || byte === BACKSLASH) {
      if (this.#name !== null) this.#addToName(bytes, at, at + 1);
      return this.#takeInEscape(byte);
    }
    if (byte !== QUOTE) return false;
    const end = this.#position + 1;
    if (!this.#isName) this.#endValue(end - this.#start === 2, end);
    else {
      this.#state = AFTER_NAME;
      const place = this.#placeHere();
      if (place === null) return true;
      place.name = decoded(this.#name);
      place.nameStart = this.#start;
      place.nameEnd = end;
    }
    return true;
  }

  #takeInEscape(byte: number): boolean {
    if (this.#state === HEX) {
      this.#count += 1;
      if (this.#count === 4) this.#state = IN_TEXT;
      return isHex(byte);
    }
    if (this.#state === IN_TEXT) {
      this.#state = ESCAPED;
      return true;
    }
    this.#count = 0;
    this.#state = byte === LETTER_U ? HEX : IN_TEXT;
    return byte === LETTER_U || ESCAPES.has(byte);
  }

  #takeLiteral(byte: number): boolean {
    if (byte !== this.#literal[this.#count]) return false;
    this.#count += 1;
    if (this.#count === this.#literal.length) this.#endValue(false, this.#position + 1);
    return true;
  }

  #takeNumber(byte: number): boolean {
    const next = continueNumber(this.#number, byte);
    if (next !== NO_NUMBER) {
      this.#number = next;
      return true;
    }
    if (!isWholeNumber(this.#number)) return false;
    this.#endValue(false, this.#position);
    return this.#takeAfterValue(byte);
  }
}

/** The end of a string's plain bytes: a quote, a backslash, or a control character, which is not allowed. */
function endOfRun(bytes: Buffer, from: number): number {
  const { length } = bytes;
  let at = from;
  for (; at < length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break;
  }
  return at;
}

/** Read as Latin-1, which is right for ASCII; listeners look for no other names. */
function decoded(name: string | null): string | null {
  return name?.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name;
}

/** The state after the first byte. */
function beginNumber(byte: number): NumberState {
  return byte === 0x2d ? MINUS : continueNumber(MINUS, byte);
}

/** The state after one more byte. */
function continueNumber(state: NumberState, byte: number): NumberState {
  return STEPS[state]?.[kindOf(byte)] ?? NO_NUMBER;
}

/** Whether a number may end in this state. */
function isWholeNumber(state: NumberState): boolean {
  return state === ZERO || state === INTEGER || state === FRACTION || state === POWER;
}

function kindOf(byte: number): number {
  if (byte === 0x30) return DIGIT_0;
  if (byte > 0x30 && byte <= 0x39) return DIGIT;
  if (byte === 0x2e) return DOT;
  if (byte === 0x65 || byte === 0x45) return LETTER_E;
  return byte === 0x2b || byte === 0x2d ? SIGN : OTHER;
}
