import { type ChunkReader, createChunkReader } from './http1-chunked.ts';
import { MAX_HEAD_BYTES, type ResponseHeaders } from './types.ts';

/** Who hears of a response's parts. */
export interface ParsedParts {
  onHead(status: number, headers: ResponseHeaders): void;
  onData(piece: Buffer): void;
}

/** How far a response has come. */
export type ParseState =
  | 'going'
  /** Its last byte has come. */
  | 'whole'
  /** Not HTTP, or its framing is broken. */
  | 'malformed'
  /** The head is over the limit. */
  | 'too_large'
  /** There are bytes behind its end, which nobody asked for. */
  | 'overrun';

/** Reads one response from the pieces of a connection. */
export interface ResponseParser {
  /** Takes the next piece; not to be called again once the state is another than `going`. */
  push(piece: Buffer): ParseState;
  /** The connection has ended: true where that ends the body as it should. */
  endsWithConnection(): boolean;
  /** How long the connection may wait for another request; null where it may not serve one. */
  keepAliveMs(): number | null;
  /** A byte of the response has come. */
  hasBegun(): boolean;
  headSeen(): boolean;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** Makes a parser for one response. */
export function createResponseParser(parts: ParsedParts): ResponseParser {
  return new Parser(parts);
}

class Parser implements ResponseParser {
  readonly #parts: ParsedParts;
  #waiting: Buffer | null = null;
  #bodyEnd: BodyEnd | null = null;
  #chunks: ChunkReader | null = null;
  #leftBytes = 0;
  #keepAliveMs: number | null = null;
  #hasBegun = false;

  constructor(parts: ParsedParts) {
    this.#parts = parts;
  }

  push(piece: Buffer): ParseState {
    this.#hasBegun = true;
    return this.#bodyEnd === null ? this.#readHead(piece) : this.#readBody(piece);
  }

  endsWithConnection(): boolean {
    return this.#bodyEnd?.kind === 'close';
  }

  keepAliveMs(): number | null {
    return this.#keepAliveMs;
  }

  hasBegun(): boolean {
    return this.#hasBegun;
  }

  headSeen(): boolean {
    return this.#bodyEnd !== null;
  }

  /** Reads heads until one is final; what follows it is the body's. */
  #readHead(piece: Buffer): ParseState {
    // Pieces are joined anew each time, but never to more than the limit.
    const bytes = this.#waiting === null ? piece : Buffer.concat([this.#waiting, piece]);
    this.#waiting = null;
    const end = bytes.indexOf(HEAD_END);
    if (end === -1 ? bytes.length > MAX_HEAD_BYTES : end > MAX_HEAD_BYTES) return 'too_large';
    if (end === -1) {
      this.#waiting = bytes;
      return 'going';
    }
    const head = parseHead(bytes.toString('latin1', 0, end));
    // A change of protocol was not asked for.
    if (head === null || head.status === 101) return 'malformed';
    const rest = bytes.subarray(end + HEAD_END.length);
    if (head.status < 200) return rest.length === 0 ? 'going' : this.#readHead(rest);
    this.#bodyEnd = head.bodyEnd;
    this.#keepAliveMs = head.keepAliveMs;
    if (head.bodyEnd.kind === 'length') this.#leftBytes = head.bodyEnd.bytes;
    if (head.bodyEnd.kind === 'chunks') this.#chunks = createChunkReader(this.#parts);
    this.#parts.onHead(head.status, head.headers);
    return this.#readBody(rest);
  }

  #readBody(piece: Buffer): ParseState {
    if (this.#chunks !== null) return this.#chunks.push(piece);
    if (this.#bodyEnd?.kind === 'close') {
      if (piece.length > 0) this.#parts.onData(piece);
      return 'going';
    }
    const data = piece.length > this.#leftBytes ? piece.subarray(0, this.#leftBytes) : piece;
    this.#leftBytes -= data.length;
    if (data.length > 0) this.#parts.onData(data);
    if (this.#leftBytes > 0) return 'going';
    return piece.length > data.length ? 'overrun' : 'whole';
  }
}

/** Where a response's body ends. */
type BodyEnd =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunks' }
  /** With the connection. */
  | { readonly kind: 'close' };

/** The head of a response. */
interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly bodyEnd: BodyEnd;
  /** How long the other side keeps the idle connection; null where it does not, Infinity where it does not say. */
  readonly keepAliveMs: number | null;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What may not stand in a line: controls but for the tab, a CR or LF on its own included. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Reads a response head (RFC 9112), without its closing blank line, one character a byte; null where it
 * is none. Strict where leniency lets two readers see two different responses: folded lines, blanks
 * before the colon, a length beside chunks, two lengths.
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

/** HTTP/1.1 keeps connections unless it says not to, HTTP/1.0 only if it says so. */
function isKeptAlive(isHttp11: boolean, { connection }: ResponseHeaders): boolean {
  const words = String(connection ?? '').toLowerCase();
  return isHttp11 ? !/\bclose\b/.test(words) : /\bkeep-alive\b/.test(words);
}

/** A request that is written as the other side closes is lost, so a second is left between. */
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
    const value = line.slice(colon + 1).trim();
    if (Object.hasOwn(headers, name)) headers[name] = [headers[name] ?? [], value].flat();
    else headers[name] = value;
  }
  return headers;
}

function bodyEndOf(status: number, headers: ResponseHeaders): BodyEnd | null {
  const { 'transfer-encoding': coding, 'content-length': length } = headers;
  if (coding !== undefined && length !== undefined) return null;
  if (status < 200 || status === 204 || status === 304) return { kind: 'none' };
  if (coding !== undefined) {
    return String(coding).toLowerCase() === 'chunked' ? { kind: 'chunks' } : null;
  }
  if (length === undefined) return { kind: 'close' };
  const [only, ...others] = new Set([length].flat());
  // Fifteen digits are the most that a number holds exactly.
  if (only === undefined || others.length > 0 || !/^\d{1,15}$/.test(only)) return null;
  return { kind: 'length', bytes: Number(only) };
}
