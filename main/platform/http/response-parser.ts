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
  let waiting: Buffer | null = null;
  let bodyEnd: BodyEnd | null = null;
  let chunks: ChunkReader | null = null;
  let leftBytes = 0;
  let keepAliveMs: number | null = null;
  let begun = false;

  /** Reads heads until one is final; what follows it is the body's. */
  function readHead(piece: Buffer): ParseState {
    // Pieces are joined anew each time, but never to more than the limit.
    const bytes = waiting === null ? piece : Buffer.concat([waiting, piece]);
    waiting = null;
    const end = bytes.indexOf(HEAD_END);
    if (end === -1 ? bytes.length > MAX_HEAD_BYTES : end > MAX_HEAD_BYTES) return 'too_large';
    if (end === -1) {
      waiting = bytes;
      return 'going';
    }
    const head = parseHead(bytes.toString('latin1', 0, end));
    // A change of protocol was not asked for.
    if (head === null || head.status === 101) return 'malformed';
    const rest = bytes.subarray(end + HEAD_END.length);
    if (head.status < 200) return rest.length === 0 ? 'going' : readHead(rest);
    ({ bodyEnd, keepAliveMs } = head);
    if (bodyEnd.kind === 'length') leftBytes = bodyEnd.bytes;
    if (bodyEnd.kind === 'chunks') chunks = createChunkReader((data) => parts.onData(data));
    parts.onHead(head.status, head.headers);
    return readBody(rest);
  }

  function readBody(piece: Buffer): ParseState {
    if (chunks !== null) return chunks.push(piece);
    if (bodyEnd?.kind === 'close') {
      if (piece.length > 0) parts.onData(piece);
      return 'going';
    }
    const data = piece.length > leftBytes ? piece.subarray(0, leftBytes) : piece;
    leftBytes -= data.length;
    if (data.length > 0) parts.onData(data);
    if (leftBytes > 0) return 'going';
    return piece.length > data.length ? 'overrun' : 'whole';
  }

  return {
    push(piece) {
      begun = true;
      return bodyEnd === null ? readHead(piece) : readBody(piece);
    },
    endsWithConnection: () => bodyEnd?.kind === 'close',
    keepAliveMs: () => keepAliveMs,
    hasBegun: () => begun,
    headSeen: () => bodyEnd !== null,
  };
}
