import { type ChunkReader, copyOf, createChunkReader } from './http1-chunked.ts';
import { type BodyEnd, parseHead } from './http1-head.ts';
import { MAX_HEAD_BYTES, MAX_INTERIM_HEADS, type ResponseHeaders } from './types.ts';

/** Who hears of a response's parts. */
export interface ParsedParts {
  onHead(status: number, headers: ResponseHeaders): void;
  /** What one read brought of the body, as one piece of its own. */
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
  /** More heads that are none of a final answer than anybody has a use for. */
  | 'too_many_heads'
  /** There are bytes behind its end, which nobody asked for. */
  | 'overrun';

/** Reads one response from the pieces of a connection. */
export interface ResponseParser {
  /**
   * Takes the bytes of a read up to `end`; not to be called again once the state is another than `going`.
   * They are the parser's until it returns, and may be written over afterwards.
   */
  push(bytes: Buffer, end: number): ParseState;
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
  #splitHead: SplitHead | null = null;
  #interimHeads = 0;
  #bodyEnd: BodyEnd | null = null;
  #chunks: ChunkReader | null = null;
  #leftBytes = 0;
  #keepAliveMs: number | null = null;
  #hasBegun = false;

  constructor(parts: ParsedParts) {
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

  /** Reads heads until one is final; what follows it is the body's. */
  #readHeads(bytes: Buffer, end: number): ParseState {
    let start = 0;
    while (start < end) {
      const piece = bytes.subarray(start, end);
      // Most come whole in one read, and nothing is gathered.
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
    // A change of protocol was not asked for.
    if (head === null || head.status === 101) return 'malformed';
    if (head.status < 200) {
      // Behind a head that ends the connection nothing can come.
      if (head.keepAliveMs === null) return 'malformed';
      this.#interimHeads += 1;
      return this.#interimHeads > MAX_INTERIM_HEADS ? 'too_many_heads' : 'going';
    }
    this.#bodyEnd = head.bodyEnd;
    this.#keepAliveMs = head.keepAliveMs;
    if (head.bodyEnd.kind === 'length') this.#leftBytes = head.bodyEnd.bytes;
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
    const dataEnd = Math.min(end, start + this.#leftBytes);
    this.#leftBytes -= dataEnd - start;
    if (dataEnd > start) this.#parts.onData(copyOf(bytes, start, dataEnd));
    if (this.#leftBytes > 0) return 'going';
    return end > dataEnd ? 'overrun' : 'whole';
  }
}

/** A head that comes in more than one read; each byte is copied and looked at once, however small the reads. */
class SplitHead {
  #bytes: Buffer = Buffer.allocUnsafe(1024);
  #length = 0;

  constructor(piece: Buffer) {
    this.add(piece);
  }

  /** How many bytes of the piece belong to the head, or null where its end is still to come. */
  add(piece: Buffer): number | null {
    const before = this.#length;
    const added = Math.min(piece.length, MAX_HEAD_BYTES + HEAD_END.length - before);
    if (before + added > this.#bytes.length) this.#grow(before + added);
    piece.copy(this.#bytes, before, 0, added);
    this.#length = before + added;
    // The end itself may be split.
    const searched = Math.max(0, before - HEAD_END.length + 1);
    const end = this.#bytes.subarray(0, this.#length).indexOf(HEAD_END, searched);
    if (end === -1) return null;
    this.#length = end + HEAD_END.length;
    return this.#length - before;
  }

  /** There is no end in as many bytes as a head may have. */
  isTooLarge(): boolean {
    return this.#length === MAX_HEAD_BYTES + HEAD_END.length;
  }

  /** The head, once its end has come. */
  text(): string {
    return textOfHead(this.#bytes, this.#length);
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafe(Math.max(bytes, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** With its closing blank line; null where that is still to come. */
function lengthOfHead(piece: Buffer): number | null {
  const end = piece.indexOf(HEAD_END);
  return end === -1 ? null : end + HEAD_END.length;
}

/** Without its closing blank line. */
const textOfHead = (bytes: Buffer, length: number): string =>
  bytes.toString('latin1', 0, length - HEAD_END.length);
