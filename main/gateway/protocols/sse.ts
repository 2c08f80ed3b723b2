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
/** `data` */
const DATA_WORD = 0x64617461;

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

/*
 * The lines of an event, in Latin-1: of the characters that `^`, `$` and `.` take for the end of a line it has CR and LF
 * alone, which are those of the standard. A CRLF reads as two ends with an empty line between, which is ignored.
 */
const DATA = /^data(?::.*)?$/gm;
const NAME = /^event(?::.*)?$/gm;
const ERROR = /^error(?::.*)?$/gm;
const FIELD_NAME = /^\w+:? ?/;
const ANY_DATA = /^data(?::|$)/m;
const OTHERS = /^(?!data(?::|$)).+$/gm;
const IDS = /^id(?::.*)?(?:\r\n?|\n)/gm;

const OTHER_THAN_ASCII = /[^\0-\x7f]/;

/** The values of such lines, joined with LF; null if there is none. */
function valueOf(event: Buffer, lines: RegExp): string | null {
  // Most events are one line of data, for which a search by expressions costs ten times as much.
  const isOneLine = isData(event) && event[5] === BLANK && event.indexOf(LF) === event.length - 2;
  if (isOneLine && event.at(-1) === LF && !event.includes(CR))
    return lines === DATA ? event.toString('utf8', 6, event.length - 2) : null;
  const found = event.toString('latin1').match(lines);
  if (found === null) return null;
  const joined = found.map((line) => line.replace(FIELD_NAME, '')).join('\n');
  return OTHER_THAN_ASCII.test(joined) ? Buffer.from(joined, 'latin1').toString('utf8') : joined;
}

/** The `data` of one event; null if it has none, such as a comment. */
export const dataOf = (event: Buffer): string | null => valueOf(event, DATA);

/** Whether any event has data: comments and blank lines only keep a connection open. */
export const hasData = ({ bytes }: Frames): boolean =>
  // Most reads begin with it, and to make a text of it costs more than the rest.
  isData(bytes) || ANY_DATA.test(bytes.toString('latin1'));

/** Whether its first line begins with `data:`. */
const isData = (bytes: Buffer): boolean =>
  bytes.length > 4 && bytes.readUInt32BE() === DATA_WORD && bytes[4] === COLON;

export const isNamedError = (event: Buffer): boolean => valueOf(event, NAME) === 'error';

/** The value of an event's `error` line, which the standard does not know; null without one. */
export const errorFieldOf = (event: Buffer): string | null => valueOf(event, ERROR);

/** Without ids, behind which OpenAI's Python client makes an empty event of each comment (openai/openai-python#2722). */
export function withoutIds(frames: Frames): Frames {
  if (frames.bytes.toString('latin1').search(IDS) === -1) return frames;
  const plain = (event: Buffer) => Buffer.from(event.toString('latin1').replace(IDS, ''), 'latin1');
  return framesOf(eventsOf(frames).map(plain));
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
  const others = event.toString('latin1').match(OTHERS) ?? [];
  const kept = others.map((line) => `${line}\n`).join('');
  return Buffer.concat([Buffer.from(kept, 'latin1'), Buffer.from(`data: ${data}\n\n`)]);
}
