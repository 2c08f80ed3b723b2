import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../../platform/clock.ts';
import { endAfterRest } from '../../platform/http/server.ts';
import { errorBody, errorHeaders, type GatewayError } from './errors.ts';

export function sendJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: OutgoingHttpHeaders = {},
): void {
  sendBody(res, status, Buffer.from(JSON.stringify(value)), {
    'content-type': 'application/json; charset=utf-8',
    ...headers,
  });
}

/** Up to this size joining head and body is faster than a write of two pieces (`npm run bench`). */
const MAX_ONE_PIECE_BYTES = 16 * 1024;

export function sendBody(
  res: ServerResponse,
  status: number,
  body: Buffer,
  headers: OutgoingHttpHeaders,
): void {
  if (res.destroyed || res.headersSent) return;
  res.writeHead(status, { 'cache-control': 'no-store', ...headers, 'content-length': body.length });
  // Node joins a string with the head into one write; latin1 keeps the bytes.
  if (body.length <= MAX_ONE_PIECE_BYTES) res.end(body.toString('latin1'), 'latin1');
  else res.end(body);
}

/** A text of more pieces is written as fast as it is read. */
const PIECES_AT_ONCE = 100;

/**
 * Sends a text given in pieces; resolves once it is written or the reader has disconnected. Joining a very long text
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
  res.writeHead(status, { 'cache-control': 'no-store', ...headers });
  try {
    await pipeline(Readable.from(joined(pieces)), res);
  } catch {
    // The reader disconnected.
  }
}

function* joined(pieces: readonly string[]): Generator<Buffer> {
  for (let from = 0; from < pieces.length; from += PIECES_AT_ONCE) {
    yield Buffer.from(pieces.slice(from, from + PIECES_AT_ONCE).join(''));
  }
}

export function sendError(
  res: ServerResponse,
  error: GatewayError,
  headers: OutgoingHttpHeaders = {},
): void {
  sendJson(res, error.status, errorBody(error), { ...errorHeaders(error), ...headers });
}

/** How much is read of a body after its request was refused. */
export interface RestOfBody {
  /** The connection is closed after so many further bytes. */
  readonly maxRestBytes?: number;
}

/**
 * Sends an error while the request's body is still arriving, and closes the connection after the body. Closing at
 * once would reset it, and the sender would lose the answer.
 */
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
  if (res.destroyed || res.headersSent) return;
  const body = Buffer.from(JSON.stringify(errorBody(error)));
  res.writeHead(error.status, {
    'cache-control': 'no-store',
    ...errorHeaders(error),
    ...headers,
    connection: 'close',
    'content-length': body.length,
  });
  res.write(body);
  endAfterRest(req, res, { clock, maxRestBytes });
}

/** Beyond this size the copy costs more than it saves. */
const MAX_COPIED_BYTES = 16 * 1024;

/**
 * Writes a chunk of a chunked response in one piece where possible. Node writes length, bytes and line end
 * separately, which costs a third of the time of an event (`npm run bench`). Returns false, like `write`, if the
 * caller should wait for `drain`.
 */
export function writeChunk(res: ServerResponse, bytes: Buffer): boolean {
  const { socket } = res;
  const isPlain =
    socket !== null &&
    res.headersSent &&
    // HTTP/1.0 has no chunks; a pipelined response waits for the one before it.
    res.chunkedEncoding &&
    res.writableLength === socket.writableLength &&
    bytes.length > 0 &&
    bytes.length <= MAX_COPIED_BYTES;
  if (!isPlain) return res.write(bytes);
  const head = `${bytes.length.toString(16)}\r\n`;
  const piece = Buffer.allocUnsafe(head.length + bytes.length + 2);
  piece.write(head, 0, 'latin1');
  bytes.copy(piece, head.length);
  piece.write('\r\n', head.length + bytes.length, 'latin1');
  return socket.write(piece);
}
