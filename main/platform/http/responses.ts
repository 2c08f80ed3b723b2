import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';

/** Up to here joining head and body is cheaper than writing two pieces (`npm run bench`). */
const MAX_ONE_PIECE_BYTES = 16 * 1024;

/** Of every response: a browser takes it for what its content type says, and for nothing else. */
export const NOSNIFF = { 'x-content-type-options': 'nosniff' };

/** Of a response in pieces. nginx holds back what it passes on, unless it is told not to. */
export const STREAM_HEAD = { 'cache-control': 'no-store', 'x-accel-buffering': 'no', ...NOSNIFF };

/** Sends a whole response; does nothing once a head is out or the caller has gone. */
export function sendBody(
  res: ServerResponse,
  status: number,
  body: Buffer,
  headers: OutgoingHttpHeaders,
): void {
  if (res.destroyed || res.headersSent) return;
  res.writeHead(status, headOf(body, headers));
  // As Latin-1 text it goes out in one piece with its head; the bytes are the same.
  if (body.length <= MAX_ONE_PIECE_BYTES) res.end(body.toString('latin1'), 'latin1');
  else res.end(body);
}

function headOf(body: Buffer, headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const own = { 'cache-control': 'no-store', ...NOSNIFF };
  return Object.assign(own, headers, { 'content-length': body.length });
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

/** With a plan for its rest, the request's body may still be arriving. */
export function sendJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: OutgoingHttpHeaders = {},
  rest: RestPlan | null = null,
): void {
  const body = Buffer.from(JSON.stringify(value));
  const all = { ...JSON_TYPE, ...headers };
  if (rest === null || isRestShort(res.req, rest)) sendBody(res, status, body, all);
  else if (!res.destroyed && !res.headersSent) {
    res.writeHead(status, headOf(body, { ...all, connection: 'close' }));
    res.write(body);
    endAfterRest(res, rest);
  }
}

/** What to do with a body that still arrives after its request was answered. */
export interface RestPlan {
  readonly clock: Clock;
  /** The connection is closed once more than this has come over the wire; left out: no limit. */
  readonly maxRestBytes?: number;
  /** Node reads the rest of a body that was announced as no longer than this, and the connection is kept; null: it is closed. */
  readonly keptBytes?: number | null;
}

function isRestShort({ complete, headers }: IncomingMessage, { keptBytes = null }: RestPlan) {
  const { 'content-length': length = 0, 'transfer-encoding': coding } = headers;
  return complete || (keptBytes !== null && coding === undefined && Number(length) <= keptBytes);
}

/** How much is still read of a body that is refused for its sender, or because there is no room for it. */
export const SHORT_REST_BYTES = 64 * 1024;

/** How long the rest of a body is still read after the request was answered. */
export const REST_MS = 2000;

/**
 * Ends a response that was written while the request body still arrives, and closes the connection. Closing it
 * at once would reset it, and the sender would lose the response unread; so up to `maxRestBytes` of the rest are
 * read and dropped first, for at most 2 s.
 */
function endAfterRest(res: ServerResponse, { clock, maxRestBytes = Infinity }: RestPlan): void {
  const { req } = res;
  if (req.readableEnded || maxRestBytes === 0) {
    res.end();
    return;
  }
  const close = () => {
    cancelTimer();
    res.end();
  };
  const cancelTimer = clock.after(REST_MS, close);
  const { socket } = req;
  const maxBytesRead = socket.bytesRead + maxRestBytes;
  req.on('end', close).on('close', close);
  req.on('data', () => {
    if (socket.bytesRead > maxBytesRead) close();
  });
  req.resume();
}

/** An error that one of the program's servers reports, ready to be sent. */
export interface HttpError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** The field at fault. */
  readonly param?: string | null;
  /** When to try again; null when waiting does not help. */
  readonly retryAfterMs?: number | null;
}

/** The body of an error in OpenAI's shape; `src` names the server that reports it. */
export function errorBodyFrom<Source extends string>(
  { status, code, message, param = null }: HttpError,
  src: Source,
) {
  const type = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');
  return { error: { message, type, code, param }, src };
}

/** OpenAI's error types; its clients choose an error class by status, people read the type. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

/** Sends an error with its body; `Retry-After` says in whole seconds, at least one, when to try again. */
export function sendHttpError(
  res: ServerResponse,
  { status, retryAfterMs }: HttpError,
  body: object,
  headers: OutgoingHttpHeaders,
  rest: RestPlan | null,
): void {
  const seconds =
    typeof retryAfterMs === 'number' ? Math.max(1, Math.ceil(retryAfterMs / 1000)) : null;
  const retry = seconds === null ? {} : { 'retry-after': String(seconds) };
  sendJson(res, status, body, { ...retry, ...headers }, rest);
}
