import { type ChunkReader, copyOf, createChunkReader } from './http1-chunked.ts';
import { type BodyEnd, parseHead } from './http1-head.ts';
import { MAX_HEAD_BYTES, MAX_INTERIM_HEADS, type ResponseHeaders } from './types.ts';

export interface ResponseParts {
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
  /** More interim (1xx) heads than `MAX_INTERIM_HEADS`. */
  | 'too_many_heads'
  /** The response is complete, and bytes follow it. */
  | 'overrun';

/** Parses one response from the reads of a connection. */
export interface ResponseParser {
  /**
   * Parses the bytes of a read up to `end`, and may overwrite them; the caller may reuse them afterwards. Must
   * not be called again after another state than `going`.
   */
  push(bytes: Buffer, end: number): ParseState;
  /** Whether the end of the connection is the regular end of the body. */
  endsWithConnection(): boolean;
  /** How long the connection may be kept idle; null if it must not be reused. */
  keepAliveMs(): number | null;
  /** A byte of the response has come. */
  hasBegun(): boolean;
  headSeen(): boolean;
}

const HEAD_END = Buffer.from('\r\n\r\n');

export function createResponseParser(parts: ResponseParts): ResponseParser {
  return new Parser(parts);
}

class Parser implements ResponseParser {
  readonly #parts: ResponseParts;
  #splitHead: SplitHead | null = null;
  #interimHeads = 0;
  #bodyEnd: BodyEnd | null = null;
  #chunks: ChunkReader | null = null;
  #remainingBytes = 0;
  #keepAliveMs: number | null = null;
  #hasBegun = false;

  constructor(parts: ResponseParts) {
    this.#parts = parts;
  }

  push(bytes: Buffer, end: number): ParseState {
    this.#hasBegun = true;
    return this.#bodyEnd === null ? this.#readHeads(bytes, end) : this.#readBody(bytes, 0, end);
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
      this.#interimHeads += 1;
      return this.#interimHeads > MAX_INTERIM_HEADS ? 'too_many_heads' : 'going';
    }
    this.#bodyEnd = head.bodyEnd;
    this.#keepAliveMs = head.keepAliveMs;
    if (head.bodyEnd.kind === 'length') this.#remainingBytes = head.bodyEnd.bytes;
    if (head.bodyEnd.kind === 'chunks') this.#chunks = createChunkReader(this.#parts);
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
