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
