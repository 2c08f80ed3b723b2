import type { ResponseHeaders } from '../http.ts';
import { createChunkReader, type ChunkReader } from './chunk-reader.ts';
import { MAX_HEAD_BYTES } from './limits.ts';
import { parseHead, type BodyEnd } from './response-head.ts';

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
