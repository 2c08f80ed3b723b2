import { MAX_HEAD_BYTES, type ResponseHeaders } from './types.ts';

export interface ResponseParts {
  /** Called for interim (1xx) heads as well. */
  onHead(status: number, headers: ResponseHeaders): void;
  /** Called once for each read with bytes of the body; the piece is a copy. */
  onData(piece: Buffer): void;
}

export type ParseState =
  | 'going'
  /** The response is complete. */
  | 'whole'
  /** Not HTTP, or its framing is broken. */
  | 'malformed'
  /** The head is over the limit. */
  | 'too_large'
  /** The response is complete, and bytes follow it. */
  | 'overrun';

const HEAD_END = Buffer.from('\r\n\r\n');

/** Parses one response from the reads of a connection. */
export class ResponseParser {
  readonly #parts: ResponseParts;
  #splitHead: SplitHead | null = null;
  #bodyEnd: BodyEnd | null = null;
  #chunks: ChunkReader | null = null;
  #remainingBytes = 0;
  #keepAliveMs: number | null = null;
  #hasBegun = false;

  constructor(parts: ResponseParts) {
    this.#parts = parts;
  }

  /**
   * Parses the bytes of a read up to `end`, and may overwrite them; the caller may reuse them afterwards. Must
   * not be called again after another state than `going`.
   */
  push(bytes: Buffer, end: number): ParseState {
    this.#hasBegun = true;
    return this.#bodyEnd === null ? this.#readHeads(bytes, end) : this.#readBody(bytes, 0, end);
  }

  /** Whether the end of the connection is the regular end of the body. */
  endsWithConnection(): boolean {
    return this.#bodyEnd?.kind === 'close';
  }

  /** How long the connection may be kept idle; null if it must not be reused. */
  keepAliveMs(): number | null {
    return this.#keepAliveMs;
  }

  /** A byte of the response has come. */
  hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Parses interim heads and the final one, then what follows it as the body. */
  #readHeads(bytes: Buffer, end: number): ParseState {
    let start = 0;
    while (start < end) {
      const piece = bytes.subarray(start, end);
      // Most heads come in one read, and nothing is copied.
      const length = this.#splitHead === null ? lengthOfHead(piece) : this.#splitHead.add(piece);
      if (length === null) {
        this.#splitHead ??= new SplitHead(piece);
        return this.#splitHead.isTooLarge() ? 'too_large' : 'going';
      }
      const text = this.#splitHead?.text() ?? textOfHead(piece, length);
      this.#splitHead = null;
      if (text.length > MAX_HEAD_BYTES) return 'too_large';
      start += length;
      const state = this.#takeHead(text);
      if (state !== 'going') return state;
      if (this.#bodyEnd !== null) return this.#readBody(bytes, start, end);
    }
    return 'going';
  }

  #takeHead(text: string): ParseState {
    const head = parseHead(text);
    // 101: no change of protocol was requested.
    if (head === null || head.status === 101) return 'malformed';
    if (head.status < 200) {
      // After a head that closes the connection no final response can follow.
      if (head.keepAliveMs === null) return 'malformed';
      this.#parts.onHead(head.status, head.headers);
      return 'going';
    }
    this.#bodyEnd = head.bodyEnd;
    this.#keepAliveMs = head.keepAliveMs;
    if (head.bodyEnd.kind === 'length') this.#remainingBytes = head.bodyEnd.bytes;
    if (head.bodyEnd.kind === 'chunks') this.#chunks = new ChunkReader(this.#parts);
    this.#parts.onHead(head.status, head.headers);
    return 'going';
  }

  #readBody(bytes: Buffer, start: number, end: number): ParseState {
    if (this.#chunks !== null) return this.#chunks.push(bytes, start, end);
    if (this.#bodyEnd?.kind === 'close') {
      if (end > start) this.#parts.onData(copyOf(bytes, start, end));
      return 'going';
    }
    const dataEnd = Math.min(end, start + this.#remainingBytes);
    this.#remainingBytes -= dataEnd - start;
    if (dataEnd > start) this.#parts.onData(copyOf(bytes, start, dataEnd));
    if (this.#remainingBytes > 0) return 'going';
    return end > dataEnd ? 'overrun' : 'whole';
  }
}

/** A head that comes in several reads; each byte is copied and searched once, however small the reads. */
class SplitHead {
  #bytes: Buffer = Buffer.allocUnsafe(1024);
  #length = 0;

  constructor(piece: Buffer) {
    this.add(piece);
  }

  /** Returns how many bytes of the piece belong to the head, or null if its end has not come. */
  add(piece: Buffer): number | null {
    const before = this.#length;
    const added = Math.min(piece.length, MAX_HEAD_BYTES + HEAD_END.length - before);
    if (before + added > this.#bytes.length) this.#grow(before + added);
    piece.copy(this.#bytes, before, 0, added);
    this.#length = before + added;
    // The blank line itself may be split.
    const searched = Math.max(0, before - HEAD_END.length + 1);
    const end = this.#bytes.subarray(0, this.#length).indexOf(HEAD_END, searched);
    if (end === -1) return null;
    this.#length = end + HEAD_END.length;
    return this.#length - before;
  }

  /** The largest allowed number of bytes holds no end. */
  isTooLarge(): boolean {
    return this.#length === MAX_HEAD_BYTES + HEAD_END.length;
  }

  text(): string {
    return textOfHead(this.#bytes, this.#length);
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafe(Math.max(bytes, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** With the closing blank line; null if that has not come. */
function lengthOfHead(piece: Buffer): number | null {
  const end = piece.indexOf(HEAD_END);
  return end === -1 ? null : end + HEAD_END.length;
}

/** Without the closing blank line. */
const textOfHead = (bytes: Buffer, length: number): string =>
  bytes.toString('latin1', 0, length - HEAD_END.length);

/** Where a response's body ends. */
type BodyEnd =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunks' }
  /** The end of the connection. */
  | { readonly kind: 'close' };

interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly bodyEnd: BodyEnd;
  /** How long the other side keeps the idle connection: null for not at all, Infinity if it does not say. */
  readonly keepAliveMs: number | null;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]";
const NAME = new RegExp(`^${TOKEN}+$`);
/** Control characters except the tab; a lone CR or LF is one. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Parses a response head (RFC 9112) of one character per byte, without its closing blank line; null if it is
 * malformed. Strict wherever lenient parsers disagree on what the response is: folded lines, blanks before the
 * colon, a length beside chunks, two lengths.
 */
function parseHead(text: string): ResponseHead | null {
  const lines = text.split('\r\n');
  const first = STATUS_LINE.exec(lines[0] ?? '');
  if (first === null || FORBIDDEN.test(lines[0] ?? '')) return null;
  const headers = parseFields(lines);
  if (headers === null) return null;
  const status = Number(first[2]);
  const bodyEnd = bodyEndOf(status, headers);
  if (bodyEnd === null) return null;
  const isKept = bodyEnd.kind !== 'close' && isKeptAlive(first[1] === '1', headers);
  return { status, headers, bodyEnd, keepAliveMs: isKept ? keepAliveMsOf(headers) : null };
}

/** By default HTTP/1.1 keeps connections and HTTP/1.0 does not. */
function isKeptAlive(isHttp11: boolean, headers: ResponseHeaders): boolean {
  const { connection, 'proxy-connection': ofProxy } = headers;
  // A shortcut for most responses of engines.
  if (connection === undefined && ofProxy === undefined) return isHttp11;
  const words = [connection ?? [], ofProxy ?? []].flat().join(',').toLowerCase();
  return (
    !/\bclose\b/.test(words) && (isHttp11 || /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/.test(words))
  );
}

/** A request written while the other side closes is lost, so the announced time is not used in full. */
const KEEP_ALIVE_MARGIN_MS = 1000;

function keepAliveMsOf({ 'keep-alive': hint }: ResponseHeaders): number | null {
  const seconds = /\btimeout=(\d+)/i.exec(String(hint ?? ''))?.[1];
  if (seconds === undefined) return Infinity;
  const keptMs = Number(seconds) * 1000 - KEEP_ALIVE_MARGIN_MS;
  return keptMs > 0 ? keptMs : null;
}

function parseFields(lines: readonly string[]): ResponseHeaders | null {
  const headers: Record<string, string | string[]> = {};
  for (let index = 1; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!NAME.test(name) || FORBIDDEN.test(line)) return null;
    // Some parsers take the tab for a part of the coding.
    if (name === 'transfer-encoding' && line.endsWith('\t')) return null;
    addField(headers, name, valueOf(line, colon + 1));
  }
  return headers;
}

/** Trims blanks only: `trim` would also remove a no-break space (0xa0). */
function valueOf(line: string, colonEnd: number): string {
  let start = colonEnd;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start += 1;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

/** Appends to one list for a repeated field: a new list each time would be quadratic. */
function addField(headers: Record<string, string | string[]>, name: string, value: string): void {
  const known = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (known === undefined) headers[name] = value;
  else if (typeof known === 'string') headers[name] = [known, value];
  else known.push(value);
}

/**
 * Null if two parsers might disagree on the end of the body: a length beside chunks, two lengths even if
 * they are equal, another coding than chunks. This is checked for responses without a body too.
 */
function bodyEndOf(status: number, headers: ResponseHeaders): BodyEnd | null {
  const { 'transfer-encoding': coding, 'content-length': length } = headers;
  if (coding !== undefined && length !== undefined) return null;
  if (coding !== undefined && String(coding).toLowerCase() !== 'chunked') return null;
  // More digits do not fit into a number exactly.
  if (length !== undefined && !/^\d{1,15}$/.test(String(length))) return null;
  if (status < 200 || status === 204 || status === 304) return { kind: 'none' };
  if (coding !== undefined) return { kind: 'chunks' };
  return length === undefined ? { kind: 'close' } : { kind: 'length', bytes: Number(length) };
}

/** More hexadecimal digits do not fit into a number exactly. */
const MAX_SIZE_DIGITS = 13;
/** Of all chunk extensions and trailers together, which are not used. */
const MAX_EXTRA_BYTES = 16 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const SEMICOLON = 0x3b;

/** What the next byte belongs to. */
type Expected = 'size' | 'size_lf' | 'data' | 'data_cr' | 'data_lf' | Line;
/** Ignored, but checked at its end: two parsers that disagree on these bytes disagree on where the body ends. */
type Line = 'extensions' | 'trailer';

const EXTENSIONS = new RegExp(
  String.raw`^(?:;${TOKEN}*(?:=(?:${TOKEN}*|"(?:[^"\\]|\\.)*"))?)+(?<!;)$`,
);
const TRAILER = new RegExp(`^${TOKEN}+:`);
/** What frames a message has no meaning among the trailers, and some parsers refuse it. */
const FRAMING = /^(content-length|transfer-encoding):/i;

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
  /** The extensions or the trailer being read. */
  #line = '';

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
      case 'data':
        return null;
      default:
        return this.#afterLineByte(expected, byte);
    }
  }

  #afterLineByte(expected: Line, byte: number): Expected | 'whole' | null {
    this.#extraBytes += 1;
    if (this.#extraBytes > MAX_EXTRA_BYTES) return null;
    if (byte !== LF) {
      this.#line += String.fromCharCode(byte);
      return expected;
    }
    const line = this.#line.slice(0, -1);
    const isSound = this.#line.endsWith('\r') && !FORBIDDEN.test(line);
    this.#line = '';
    if (!isSound) return null;
    if (expected === 'extensions') return EXTENSIONS.test(line) ? this.#afterSize() : null;
    if (line === '') return 'whole';
    return TRAILER.test(line) && !FRAMING.test(line) ? 'trailer' : null;
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
    if (byte !== SEMICOLON) return null;
    this.#line = ';';
    return 'extensions';
  }

  #afterSize(): Expected {
    this.#digits = 0;
    return this.#remainingBytes === 0 ? 'trailer' : 'data';
  }
}

/** The value of a hexadecimal digit, or -1. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

/** Copies, because the read buffer is reused, and a view would keep all of it in memory. */
function copyOf(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}
