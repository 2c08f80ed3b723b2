/** A stream with a larger event is a bad response; this bounds the memory. */
export const MAX_EVENT_BYTES = 4 * 1024 * 1024;

/** Ends the stream of a chat completion. */
export const DONE_EVENT = 'data: [DONE]\n\n';

/**
 * For what follows the finish reasons: usage and `[DONE]`, which some hosts never send on a connection that they
 * never close (maximhq/bifrost#6784, musistudio/claude-code-router#1271).
 */
export const MAX_END_MS = 10_000;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const BLANK = 0x20;

const EMPTY = Buffer.alloc(0);
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const MIN_BUFFER_BYTES = 1024;
/** A larger buffer is released with the event that needed it. */
const MAX_IDLE_BUFFER_BYTES = 16 * 1024;

export interface Frames {
  /** The bytes of all whole events, in order. */
  readonly bytes: Buffer;
  /** End of each event in `bytes`. */
  readonly ends: readonly number[];
}

export const createFramer = () => new Framer();

/**
 * Splits a stream of server-sent events at event boundaries, whatever pieces it arrives in. Lines end in LF, CRLF or CR,
 * an event at a blank line, and a byte order mark before the first is left out (WHATWG HTML, 9.2.5). Further blank lines
 * belong to the event before: 64 KiB of them are one event, not 65,536. Work and memory are linear in the bytes,
 * however small the pieces.
 */
export class Framer {
  /** The incomplete event, copied, so that one-byte pieces take no more memory than their bytes. */
  #buffer = EMPTY;
  /** Length of the incomplete event. */
  pendingBytes = 0;
  #isFirst = true;
  /** The last three line ends with nothing behind them, as digits of two bits: 1 is LF, 2 is CR. */
  #lineEnds = 0;

  /** Null while no event is complete. */
  push(chunk: Buffer): Frames | null {
    const ends = this.#findEnds(chunk);
    const last = ends?.at(-1);
    if (ends === null || last === undefined) {
      this.#append(chunk);
      return null;
    }
    // Most pieces are one whole event, with nothing to split or join.
    const whole = last === chunk.length ? chunk : chunk.subarray(0, last);
    const shift = this.pendingBytes;
    const bytes = shift === 0 ? whole : Buffer.concat([this.#buffer.subarray(0, shift), whole]);
    this.pendingBytes = 0;
    if (this.#buffer.length > MAX_IDLE_BUFFER_BYTES) this.#buffer = EMPTY;
    if (last < chunk.length) this.#append(chunk.subarray(last));
    const own = this.#unmarked(bytes);
    const left = shift - (bytes.length - own.length);
    return { bytes: own, ends: left === 0 ? ends : ends.map((end) => end + left) };
  }

  /** Removes and returns the incomplete event. */
  takePending(): Buffer {
    const rest = this.#buffer.subarray(0, this.pendingBytes);
    this.#buffer = EMPTY;
    this.pendingBytes = 0;
    return this.#unmarked(rest);
  }

  #unmarked(bytes: Buffer): Buffer {
    const isMarked = this.#isFirst && bytes.indexOf(BYTE_ORDER_MARK) === 0;
    this.#isFirst = false;
    return isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  }

  #append(piece: Buffer): void {
    const length = this.pendingBytes + piece.length;
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(MIN_BUFFER_BYTES, length * 2));
      this.#buffer.copy(grown, 0, 0, this.pendingBytes);
      this.#buffer = grown;
    }
    piece.copy(this.#buffer, this.pendingBytes);
    this.pendingBytes = length;
  }

  #findEnds(chunk: Buffer): number[] | null {
    let ends: number[] | null = null;
    let lineEnds = this.#lineEnds;
    let nextLf = -1;
    let nextCr = -1;
    for (let at = 0; ; at = Math.min(nextLf, nextCr)) {
      for (; chunk[at] === LF || chunk[at] === CR; at += 1)
        lineEnds = ((lineEnds << 2) & 0x3f) | (chunk[at] === LF ? 1 : 2);
      const isOver = at === chunk.length;
      // Where lines have ended in CRLF, the event is incomplete without its LF.
      const isCut = isOver && (lineEnds & 0xf) === LF_CR;
      const isBlank = lineEnds > 3 && lineEnds !== CR_LF && !isCut;
      // V8 reserves 17 slots when an empty array is pushed to.
      if (isBlank && ends === null) ends = [at];
      else if (isBlank) ends?.push(at);
      this.#lineEnds = isBlank ? lineEnds & 3 : lineEnds;
      if (isOver) return ends;
      lineEnds = 0;
      // Searched again only once passed, so that no byte is searched twice for the same character.
      if (nextLf < at) nextLf = indexOrEnd(chunk, LF, at);
      if (nextCr < at) nextCr = indexOrEnd(chunk, CR, at);
    }
  }
}

/** Of line ends as digits. */
const [CR_LF, LF_CR] = [0b1001, 0b0110];

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at === -1 ? chunk.length : at;
}

export function eventsOf(frames: Frames): readonly Buffer[] {
  // Most reads bring one.
  if (frames.ends.length === 1) return [frames.bytes];
  return frames.ends.map((end, index) => frames.bytes.subarray(frames.ends[index - 1] ?? 0, end));
}

export function framesOf(events: readonly Buffer[]): Frames {
  let end = 0;
  const ends = events.map((event) => (end += event.length));
  const [only] = events;
  return { bytes: events.length === 1 && only ? only : Buffer.concat(events), ends };
}

/** The `data` of one event, its lines joined with LF; null if it has none, such as a comment. */
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
    // A CRLF reads as two line ends with an empty line between, which is ignored.
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
    // Byte by byte: with a million one-byte lines, each call of `copy` would cost as much as fifty bytes.
    for (let at = value; at < end; at += 1) joined[length++] = event[at] ?? 0;
  }
  if (first === null) return null;
  return joined === null ? event.toString('utf8', ...first) : joined.toString('utf8', 0, length);
}

/** Whether any event has data: comments and blank lines only keep a connection open. */
export function hasData({ bytes, ends }: Frames): boolean {
  let start = 0;
  for (const end of ends) {
    if (bytes[start] === DATA[0] || dataOf(bytes.subarray(start, end)) !== null) return true;
    start = end;
  }
  return false;
}

export const isNamedError = (event: Buffer): boolean => fieldOf(event, NAME) === 'error';

/** The value of an event's `error` line, which the standard does not know; null without one. */
export const errorFieldOf = (event: Buffer): string | null => fieldOf(event, ERROR);

/** The value of an event's first line of that name. Most events do not contain the word `error`, and are not split into lines. */
function fieldOf(event: Buffer, name: Buffer): string | null {
  if (!event.includes(ERROR)) return null;
  for (let start = 0; start < event.length;) {
    const end = endOfLine(event, start);
    const value = valueStart(event, start, end, name);
    if (value !== -1) return event.toString('utf8', value, end);
    start = end + 1;
  }
  return null;
}

/** The lines that are neither blank nor `data`, each with LF. */
function otherLines(event: Buffer): Buffer {
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

/** `id` lines, each with the end of its line. */
const IDS = /(?<=^|[\r\n])id(?::[^\r\n]*)?(?:\r\n?|\n)/g;

/** Without ids, behind which OpenAI's Python client makes an empty event of each comment (openai/openai-python#2722). */
export function withoutIds(frames: Frames): Frames {
  const events = eventsOf(frames);
  const plain = events.map((event) => {
    const text = event.toString('latin1');
    const rest = text.replace(IDS, '');
    return rest === text ? event : Buffer.from(rest, 'latin1');
  });
  return plain.every((event, at) => event === events[at]) ? frames : framesOf(plain);
}

/** An event of a protocol whose events have a type, which is their name as well, and on which their fields depend. */
export interface TypedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export const typedEvent = (event: TypedEvent): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/** An event with other data; its other lines (a name, a comment) stay. */
export function eventWith(event: Buffer, data: string): Buffer {
  return Buffer.concat([otherLines(event), Buffer.from(`data: ${data}\n\n`)]);
}

const DATA = Buffer.from('data');
const NAME = Buffer.from('event');
const ERROR = Buffer.from('error');

function endOfLine(event: Buffer, start: number): number {
  let at = start;
  while (at < event.length && event[at] !== LF && event[at] !== CR) at += 1;
  return at;
}

/** Start of the line's value if its name is `field` (the line's end if it has no value), otherwise -1. */
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
