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

/** Makes a reader; `onData` gets each chunk's bytes, in the pieces in which they came. */
export function createChunkReader(onData: (piece: Buffer) => void): ChunkReader {
  let expected: Expected = 'size';
  let digits = 0;
  let leftBytes = 0;
  let extraBytes = 0;

  /** Takes one byte that is none of a chunk's; what is expected after it, or null where it is wrong. */
  function next(byte: number): Expected | 'whole' | null {
    switch (expected) {
      case 'size':
        return afterSizeByte(byte);
      case 'size_lf':
        return byte === LF ? afterSize() : null;
      case 'data_cr':
        return byte === CR ? 'data_lf' : null;
      case 'data_lf':
        return byte === LF ? 'size' : null;
      case 'trailer_lf':
        return byte === LF ? 'trailer_start' : null;
      case 'end_lf':
        return byte === LF ? 'whole' : null;
      case 'extension':
        return afterExtra(byte, expected, expected);
      case 'trailer_start':
      case 'trailer':
        return afterExtra(byte, expected, 'trailer');
      case 'data':
        return null;
    }
  }

  function afterSizeByte(byte: number): Expected | null {
    const digit = hexDigit(byte);
    if (digit !== -1) {
      digits += 1;
      leftBytes = leftBytes * 16 + digit;
      return digits > MAX_SIZE_DIGITS ? null : 'size';
    }
    if (digits === 0) return null;
    if (byte === CR) return 'size_lf';
    return byte === SEMICOLON || byte === BLANK || byte === TAB ? 'extension' : null;
  }

  function afterSize(): Expected {
    digits = 0;
    return leftBytes === 0 ? 'trailer_start' : 'data';
  }

  function afterExtra(byte: number, now: Extra, on: Extra): Expected | null {
    if (byte === CR) return AFTER_CR[now];
    extraBytes += 1;
    return byte === LF || extraBytes > MAX_EXTRA_BYTES ? null : on;
  }

  return {
    push(piece) {
      let at = 0;
      while (at < piece.length) {
        if (expected === 'data') {
          const end = Math.min(piece.length, at + leftBytes);
          onData(at === 0 && end === piece.length ? piece : piece.subarray(at, end));
          leftBytes -= end - at;
          at = end;
          if (leftBytes === 0) expected = 'data_cr';
          continue;
        }
        const after = next(piece[at] ?? 0);
        at += 1;
        if (after === null) return 'malformed';
        if (after === 'whole') return at === piece.length ? 'whole' : 'overrun';
        expected = after;
      }
      return 'going';
    },
  };
}

/** The value of a hexadecimal digit, or -1. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}
