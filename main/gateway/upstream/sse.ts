/** A larger event is a bad response, so that no stream can fill the memory. */
export const MAX_EVENT_BYTES = 4 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const BLANK = 0x20;

const EMPTY = Buffer.alloc(0);
const MIN_STORE_BYTES = 1024;
/** What is left to hold the next unfinished event; a larger store goes with the event that needed it. */
const MAX_IDLE_STORE_BYTES = 16 * 1024;

/** Whole events cut from a byte stream. */
export interface Frames {
  /** The bytes of all whole events, in order. */
  readonly bytes: Buffer;
  /** Where in `bytes` each event ends. */
  readonly ends: readonly number[];
}

/** Cuts a stream of server-sent events at event boundaries, whatever pieces it arrives in. */
export interface Framer {
  /** Takes the next piece; null while no event is whole. */
  push(chunk: Buffer): Frames | null;
  /** Bytes of the event that is not whole yet. */
  pendingBytes(): number;
  /** Takes out the unfinished event. */
  takePending(): Buffer;
}

/**
 * Makes a framer. Lines end in LF, CRLF or CR, an event at a blank line (WHATWG HTML, 9.2.5).
 * Work and memory grow with the bytes alone, however small the pieces and wherever the lines end.
 */
export function createFramer(): Framer {
  return new EventFramer();
}

class EventFramer implements Framer {
  /** The unfinished event, copied here: pieces of a byte each must cost no more than their bytes. */
  #store = EMPTY;
  #pending = 0;
  #atLineStart = true;
  /** The byte before this one where it ended a line, else 0. */
  #before = 0;
  /** A blank line's CR has come; the LF that belongs to it has not. */
  #owesLf = false;

  push(chunk: Buffer): Frames | null {
    const ends = this.#findEnds(chunk);
    const last = ends?.at(-1);
    if (ends === null || last === undefined) {
      this.#keep(chunk);
      return null;
    }
    // Most pieces are one whole event: then there is nothing to cut or to join.
    const whole = last === chunk.length ? chunk : chunk.subarray(0, last);
    const shift = this.#pending;
    const bytes = shift === 0 ? whole : Buffer.concat([this.#store.subarray(0, shift), whole]);
    this.#pending = 0;
    if (this.#store.length > MAX_IDLE_STORE_BYTES) this.#store = EMPTY;
    if (last < chunk.length) this.#keep(chunk.subarray(last));
    return { bytes, ends: shift === 0 ? ends : ends.map((end) => end + shift) };
  }

  pendingBytes(): number {
    return this.#pending;
  }

  takePending(): Buffer {
    const rest = this.#store.subarray(0, this.#pending);
    this.#store = EMPTY;
    this.#pending = 0;
    return rest;
  }

  #keep(piece: Buffer): void {
    const length = this.#pending + piece.length;
    if (length > this.#store.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(MIN_STORE_BYTES, length * 2));
      this.#store.copy(grown, 0, 0, this.#pending);
      this.#store = grown;
    }
    piece.copy(this.#store, this.#pending);
    this.#pending = length;
  }

  #findEnds(chunk: Buffer): number[] | null {
    let ends: number[] | null = null;
    // Blank lines after an event are no events of their own: 64 KiB of them are one, not 65,536.
    let isBlankSince = false;
    let nextLf = -1;
    let nextCr = -1;
    let at = 0;
    while (at < chunk.length) {
      const byte = chunk[at];
      if (this.#before === CR && byte === LF) {
        // The second half of a CRLF whose CR already ended the line, and perhaps the event.
        at += 1;
        if (this.#owesLf || ends?.at(-1) === at - 1) {
          ends = withEnd(ends, at, isBlankSince);
          isBlankSince = true;
        }
        this.#owesLf = false;
        this.#before = LF;
        continue;
      }
      if (this.#owesLf) {
        ends = withEnd(ends, at, isBlankSince);
        isBlankSince = true;
      }
      this.#owesLf = false;
      if (byte === LF || byte === CR) {
        at += 1;
        // Lines that end in CRLF so far will go on to: the event is not whole without its LF.
        this.#owesLf = this.#atLineStart && byte === CR && this.#before === LF;
        if (this.#atLineStart && !this.#owesLf) {
          ends = withEnd(ends, at, isBlankSince);
          isBlankSince = true;
        }
        this.#atLineStart = true;
        this.#before = byte;
        continue;
      }
      this.#before = 0;
      this.#atLineStart = false;
      isBlankSince = false;
      // Each is searched for anew only once it is passed, so that no byte is searched twice for it.
      if (nextLf < at) nextLf = indexOrEnd(chunk, LF, at);
      if (nextCr < at) nextCr = indexOrEnd(chunk, CR, at);
      at = Math.min(nextLf, nextCr);
    }
    return ends;
  }
}

/** An array is made with its first element: one that is empty when it is pushed to takes room for sixteen more. */
function withEnd(ends: number[] | null, end: number, isBlankSince: boolean): number[] {
  if (ends === null) return [end];
  if (isBlankSince) ends[ends.length - 1] = end;
  else ends.push(end);
  return ends;
}

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at === -1 ? chunk.length : at;
}

/** The events of `frames`, one slice each. */
export function eventsOf(frames: Frames): Buffer[] {
  return frames.ends.map((end, index) => frames.bytes.subarray(frames.ends[index - 1] ?? 0, end));
}

/** Whole events as frames. */
export function framesOf(events: readonly Buffer[]): Frames {
  let end = 0;
  const ends = events.map((event) => (end += event.length));
  const [only] = events;
  return { bytes: events.length === 1 && only ? only : Buffer.concat(events), ends };
}

/** The `data` of one event, its lines joined with LF; null when it has none (a comment, say). */
export function dataOf(event: Buffer): string | null {
  // Most events are one line of data.
  const lf = event.indexOf(LF);
  if (lf !== -1 && lf + 2 >= event.length && event.indexOf(CR) === -1) {
    const value = valueStart(event, 0, lf, DATA);
    if (value !== -1) return event.toString('utf8', value, lf);
  }
  let first: readonly [start: number, end: number] | null = null;
  let joined: Buffer | null = null;
  let length = 0;
  for (let start = 0; start < event.length;) {
    const end = endOfLine(event, start);
    const value = valueStart(event, start, end, DATA);
    // Between CR and LF lies an empty line, which says nothing.
    start = end + 1;
    if (value === -1) continue;
    if (first === null) {
      first = [value, end];
      continue;
    }
    if (joined === null) {
      joined = Buffer.allocUnsafe(event.length);
      length = event.copy(joined, 0, ...first);
    }
    joined[length++] = LF;
    // By the byte: there may be a million lines of one byte, and each call of `copy` costs fifty.
    for (let at = value; at < end; at += 1) joined[length++] = event[at] ?? 0;
  }
  if (first === null) return null;
  return joined === null ? event.toString('utf8', ...first) : joined.toString('utf8', 0, length);
}

/** Whether an event bears the name `error`. Most hold no such word, which is seen without cutting lines. */
export function isNamedError(event: Buffer): boolean {
  if (!event.includes(ERROR)) return false;
  for (let start = 0; start < event.length;) {
    const end = endOfLine(event, start);
    const value = valueStart(event, start, end, NAME);
    const isWhole = value !== -1 && end - value === ERROR.length;
    if (isWhole && event.indexOf(ERROR, value) === value) return true;
    start = end + 1;
  }
  return false;
}

/** The lines of an event that are neither blank nor `data`, each with LF. */
export function otherLines(event: Buffer): Buffer {
  const others = Buffer.allocUnsafe(event.length + 1);
  let length = 0;
  for (let start = 0; start < event.length;) {
    const end = endOfLine(event, start);
    if (end > start && valueStart(event, start, end, DATA) === -1) {
      for (let at = start; at < end; at += 1) others[length++] = event[at] ?? 0;
      others[length++] = LF;
    }
    start = end + 1;
  }
  return others.subarray(0, length);
}

const DATA = Buffer.from('data');
const NAME = Buffer.from('event');
const ERROR = Buffer.from('error');

function endOfLine(event: Buffer, start: number): number {
  let at = start;
  while (at < event.length && event[at] !== LF && event[at] !== CR) at += 1;
  return at;
}

/** Where a line's value starts if its name is `field`, at the line's end where it has none; else -1. */
function valueStart(event: Buffer, start: number, end: number, field: Buffer): number {
  const colon = start + field.length;
  if (colon > end) return -1;
  for (let index = 0; index < field.length; index += 1) {
    if (event[start + index] !== field[index]) return -1;
  }
  if (colon === end) return end;
  if (event[colon] !== COLON) return -1;
  return event[colon + 1] === BLANK ? colon + 2 : colon + 1;
}
