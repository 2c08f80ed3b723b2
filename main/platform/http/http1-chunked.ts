/** Takes a chunked body apart (RFC 9112, 7.1). */
export interface ChunkReader {
  push(piece: Buffer): 'going' | 'whole' | 'malformed' | 'overrun';
}

/** Thirteen hexadecimal digits are the most that a number holds exactly. */
const MAX_SIZE_DIGITS = 13;
/** What may stand behind the sizes and the last chunk, in all: extensions and trailers that nobody reads. */
const MAX_EXTRA_BYTES = 32 * 1024;

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const TAB = 0x09;
const BLANK = 0x20;

/** What the next byte is. */
type Expected = 'size' | 'data' | Extra | Literal;
/** Bytes that nobody reads, up to a CR. */
type Extra = 'extension' | 'trailer_start' | 'trailer';
/** One byte that must be there. */
type Literal = 'size_lf' | 'data_cr' | 'data_lf' | 'trailer_lf' | 'end_lf';

const AFTER_CR = {
  extension: 'size_lf',
  trailer_start: 'end_lf',
  trailer: 'trailer_lf',
} as const satisfies Record<Extra, Literal>;

/** Who gets each chunk's bytes, in the pieces in which they came. */
export interface ChunkListener {
  onData(piece: Buffer): void;
}

/** Makes a reader of one body. */
export function createChunkReader(listener: ChunkListener): ChunkReader {
  return new BodyChunks(listener);
}

class BodyChunks implements ChunkReader {
  readonly #listener: ChunkListener;
  #expected: Expected = 'size';
  #digits = 0;
  #leftBytes = 0;
  #extraBytes = 0;

  constructor(listener: ChunkListener) {
    this.#listener = listener;
  }

  push(piece: Buffer): 'going' | 'whole' | 'malformed' | 'overrun' {
    let at = 0;
    while (at < piece.length) {
      if (this.#expected === 'data') {
        const end = Math.min(piece.length, at + this.#leftBytes);
        this.#listener.onData(at === 0 && end === piece.length ? piece : piece.subarray(at, end));
        this.#leftBytes -= end - at;
        at = end;
        if (this.#leftBytes === 0) this.#expected = 'data_cr';
        continue;
      }
      const after = this.#next(piece[at] ?? 0);
      at += 1;
      if (after === null) return 'malformed';
      if (after === 'whole') return at === piece.length ? 'whole' : 'overrun';
      this.#expected = after;
    }
    return 'going';
  }

  /** Takes one byte that is none of a chunk's; what is expected after it, or null where it is wrong. */
  #next(byte: number): Expected | 'whole' | null {
    const expected = this.#expected;
    switch (expected) {
      case 'size':
        return this.#afterSizeByte(byte);
      case 'size_lf':
        return byte === LF ? this.#afterSize() : null;
      case 'data_cr':
        return byte === CR ? 'data_lf' : null;
      case 'data_lf':
        return byte === LF ? 'size' : null;
      case 'trailer_lf':
        return byte === LF ? 'trailer_start' : null;
      case 'end_lf':
        return byte === LF ? 'whole' : null;
      case 'extension':
        return this.#afterExtra(byte, expected, expected);
      case 'trailer_start':
      case 'trailer':
        return this.#afterExtra(byte, expected, 'trailer');
      case 'data':
        return null;
    }
  }

  #afterSizeByte(byte: number): Expected | null {
    const digit = hexDigit(byte);
    if (digit !== -1) {
      this.#digits += 1;
      this.#leftBytes = this.#leftBytes * 16 + digit;
      return this.#digits > MAX_SIZE_DIGITS ? null : 'size';
    }
    if (this.#digits === 0) return null;
    if (byte === CR) return 'size_lf';
    return byte === SEMICOLON || byte === BLANK || byte === TAB ? 'extension' : null;
  }

  #afterSize(): Expected {
    this.#digits = 0;
    return this.#leftBytes === 0 ? 'trailer_start' : 'data';
  }

  #afterExtra(byte: number, now: Extra, on: Extra): Expected | null {
    if (byte === CR) return AFTER_CR[now];
    this.#extraBytes += 1;
    return byte === LF || this.#extraBytes > MAX_EXTRA_BYTES ? null : on;
  }
}

/** The value of a hexadecimal digit, or -1. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}
