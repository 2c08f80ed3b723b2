import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../../platform/clock.ts';
import { NOSNIFF, sendBody, sendJson, sendJsonEarly } from '../../platform/http/responses.ts';
import { errorBody, errorHeaders, errorShapeFor, type GatewayError } from './errors.ts';

/** A text of more pieces than this is written in parts, as fast as it is read. */
const PIECES_AT_ONCE = 100;

/**
 * Answers with a text in pieces; resolves once it is written or the caller has disconnected. Joining a very long one
 * would block the event loop.
 */
export async function sendPieces(
  res: ServerResponse,
  status: number,
  pieces: readonly string[],
  headers: OutgoingHttpHeaders,
): Promise<void> {
  if (pieces.length <= PIECES_AT_ONCE) {
    sendBody(res, status, Buffer.from(pieces.join('')), headers);
    return;
  }
  if (res.destroyed || res.headersSent) return;
  res.writeHead(status, { 'cache-control': 'no-store', ...NOSNIFF, ...headers });
  try {
    await pipeline(Readable.from(joined(pieces)), res);
  } catch {
    // The caller disconnected.
  }
}

function* joined(pieces: readonly string[]): Generator<Buffer> {
  for (let from = 0; from < pieces.length; from += PIECES_AT_ONCE) {
    yield Buffer.from(pieces.slice(from, from + PIECES_AT_ONCE).join(''));
  }
}

/** Answers with an error of the gateway's own, in the shape that the caller reads. */
export function sendError(
  res: ServerResponse,
  error: GatewayError,
  headers: OutgoingHttpHeaders = {},
): void {
  sendJson(res, error.status, bodyFor(res.req, error, headers), {
    ...errorHeaders(error),
    ...headers,
  });
}

function bodyFor(req: IncomingMessage, error: GatewayError, headers: OutgoingHttpHeaders) {
  const id = headers['x-gateway-request-id'];
  return errorBody(error, errorShapeFor(req), typeof id === 'string' ? id : null);
}

/** What happens to a body that is still arriving after its request was refused. */
export interface RestOfBody {
  /** The connection is closed once this many more bytes have arrived; left out: no limit. */
  readonly maxRestBytes?: number;
}

/** Answers a request with an error while its body may still be arriving. */
export function sendErrorEarly(
  req: IncomingMessage,
  res: ServerResponse,
  error: GatewayError,
  {
    headers,
    clock,
    maxRestBytes = Infinity,
  }: { readonly headers: OutgoingHttpHeaders; readonly clock: Clock } & RestOfBody,
): void {
  const all = { ...errorHeaders(error), ...headers };
  const value = bodyFor(req, error, headers);
  const response = { status: error.status, value, headers: all };
  sendJsonEarly(req, res, response, { clock, maxRestBytes });
}

/** Chunks up to this size are copied into one piece; beyond it the copy costs more than it saves. */
const MAX_COPIED_BYTES = 16 * 1024;

const CR = 0x0d;
const LF = 0x0a;

/**
 * Writes to a chunked response, each chunk in one piece if possible. Node writes the length, the bytes and the line end
 * as separate pieces, and gathering them takes a third of the total cost of an event (`npm run bench`). Returns false,
 * like `write`, if the caller should wait for `drain`.
 */
export function writeChunk(res: ServerResponse, bytes: Buffer): boolean {
  const { socket } = res;
  const isPlain =
    socket !== null &&
    res.headersSent &&
    // HTTP/1.0 has no chunks; a pipelined response waits for the previous one.
    res.chunkedEncoding &&
    res.writableLength === socket.writableLength &&
    bytes.length > 0 &&
    bytes.length <= MAX_COPIED_BYTES;
  if (!isPlain) return res.write(bytes);
  const head = `${bytes.length.toString(16)}\r\n`;
  const piece = Buffer.allocUnsafe(head.length + bytes.length + 2);
  // Byte by byte: for so few, two calls of `write` would take a sixth of the gateway's own time per event.
  for (let at = 0; at < head.length; at += 1) piece[at] = head.charCodeAt(at);
  bytes.copy(piece, head.length);
  piece[piece.length - 2] = CR;
  piece[piece.length - 1] = LF;
  return socket.write(piece);
}
