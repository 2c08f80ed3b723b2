/** More hexadecimal digits do not fit into a number exactly. */
const MAX_SIZE_DIGITS = 13;
/** Of all chunk extensions and trailers together, which are not used. */
const MAX_EXTRA_BYTES = 16 * 1024;

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;

/** What the next byte belongs to. */
type Expected = 'size' | 'data' | Extra | Literal;
/** Ignored, but checked: two parsers that disagree on these bytes disagree on where the body ends. */
type Extra = Extension | Trailer;
type Extension =
  | 'extension_start'
  | 'extension_name'
  | 'extension_value'
  | 'extension_quoted'
  | 'extension_escaped'
  | 'extension_unquoted';
type Trailer = 'trailer_start' | 'trailer_name' | 'trailer_value';
/** One fixed byte. */
type Literal = 'size_lf' | 'data_cr' | 'data_lf' | 'trailer_lf' | 'end_lf';

interface ChunkListener {
  /** Called once for each `push` with data, however many chunks it held. */
  onData(piece: Buffer): void;
}

/** Decodes a chunked body (RFC 9112, 7.1). */
export class ChunkReader {
  readonly #listener: ChunkListener;
  #expected: Expected = 'size';
  #digits = 0;
  #remainingBytes = 0;
  #extraBytes = 0;
  #trailerName = '';

  constructor(listener: ChunkListener) {
    this.#listener = listener;
  }

  /**
   * Reads the bytes from `start` to `end`, and writes to them: it moves the data of several chunks together.
   * `overrun`: there are bytes after the end of the body.
   */
  push(bytes: Buffer, start: number, end: number): 'going' | 'whole' | 'malformed' | 'overrun' {
    let at = start;
    // The data of this call, moved together.
    let dataStart = start;
    let dataEnd = start;
    let after: Expected | 'whole' | null = this.#expected;
    while (at < end && after !== null && after !== 'whole') {
      if (after === 'data') {
        const stop = Math.min(end, at + this.#remainingBytes);
        if (dataEnd === dataStart) {
          dataStart = at;
          dataEnd = stop;
        } else {
          bytes.copyWithin(dataEnd, at, stop);
          dataEnd += stop - at;
        }
        this.#remainingBytes -= stop - at;
        at = stop;
        if (this.#remainingBytes === 0) after = 'data_cr';
      } else {
        after = this.#next(after, bytes[at] ?? 0);
        at += 1;
      }
    }
    if (dataEnd > dataStart) this.#listener.onData(copyOf(bytes, dataStart, dataEnd));
    if (after === null) return 'malformed';
    if (after === 'whole') return at === end ? 'whole' : 'overrun';
    this.#expected = after;
    return 'going';
  }

  /** Takes one byte outside of chunk data. Returns what comes next, or null for a wrong byte. */
  #next(expected: Expected, byte: number): Expected | 'whole' | null {
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
      case 'data':
        return null;
      default:
        this.#extraBytes += 1;
        return this.#extraBytes > MAX_EXTRA_BYTES ? null : this.#afterExtra(expected, byte);
    }
  }

  #afterExtra(expected: Extra, byte: number): Expected | null {
    switch (expected) {
      case 'trailer_start':
        this.#trailerName = '';
        return byte === CR ? 'end_lf' : this.#afterNameByte(byte);
      case 'trailer_name':
        return this.#afterNameByte(byte);
      case 'trailer_value':
        if (byte === CR) return 'trailer_lf';
        return isText(byte) ? expected : null;
      default:
        return afterExtension(expected, byte);
    }
  }

  #afterNameByte(byte: number): Expected | null {
    if (byte === COLON) return mayTrail(this.#trailerName) ? 'trailer_value' : null;
    this.#trailerName += String.fromCharCode(byte);
    return isToken(byte) ? 'trailer_name' : null;
  }

  #afterSizeByte(byte: number): Expected | null {
    const digit = hexDigit(byte);
    if (digit !== -1) {
      this.#digits += 1;
      this.#remainingBytes = this.#remainingBytes * 16 + digit;
      return this.#digits > MAX_SIZE_DIGITS ? null : 'size';
    }
    if (this.#digits === 0) return null;
    if (byte === CR) return 'size_lf';
    return byte === SEMICOLON ? 'extension_start' : null;
  }

  #afterSize(): Expected {
    this.#digits = 0;
    return this.#remainingBytes === 0 ? 'trailer_start' : 'data';
  }
}

function afterExtension(expected: Extension, byte: number): Expected | null {
  switch (expected) {
    case 'extension_start':
      return byte === CR ? null : afterExtension('extension_name', byte);
    case 'extension_name':
      return byte === EQUALS ? 'extension_value' : afterExtensionByte(expected, byte);
    case 'extension_value':
      return byte === QUOTE ? 'extension_quoted' : afterExtensionByte(expected, byte);
    case 'extension_quoted':
    case 'extension_escaped':
      return afterQuotedByte(expected, byte);
    case 'extension_unquoted':
      return byte === CR || byte === SEMICOLON ? afterExtensionByte(expected, byte) : null;
  }
}

/** Within an unquoted name or value of an extension. */
function afterExtensionByte(expected: Extension, byte: number): Expected | null {
  if (byte === CR) return 'size_lf';
  if (byte === SEMICOLON) return 'extension_start';
  return isToken(byte) ? expected : null;
}

function afterQuotedByte(
  expected: 'extension_quoted' | 'extension_escaped',
  byte: number,
): Expected | null {
  if (!isText(byte)) return null;
  if (expected === 'extension_escaped') return 'extension_quoted';
  if (byte === QUOTE) return 'extension_unquoted';
  return byte === BACKSLASH ? 'extension_escaped' : expected;
}

/** A length among the trailers has no meaning, and some parsers refuse it. */
const mayTrail = (name: string): boolean =>
  name.length > 0 && name.toLowerCase() !== 'content-length';

const TOKEN_BYTES = new Set(
  Buffer.from("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
);
const isToken = (byte: number): boolean => TOKEN_BYTES.has(byte);
/** Allowed in field values and quoted strings. */
const isText = (byte: number): boolean => byte === TAB || (byte >= 0x20 && byte !== 0x7f);

/** The value of a hexadecimal digit, or -1. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

/** Copies, because the read buffer is reused, and a view would keep all of it in memory. */
export function copyOf(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}
