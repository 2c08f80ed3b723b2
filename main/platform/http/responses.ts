import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { endAfterRest, type RestPlan } from './bodies.ts';

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
  const own = { 'cache-control': 'no-store', ...NOSNIFF };
  res.writeHead(status, Object.assign(own, headers, { 'content-length': body.length }));
  // As Latin-1 text it goes out in one piece with its head; the bytes are the same.
  if (body.length <= MAX_ONE_PIECE_BYTES) res.end(body.toString('latin1'), 'latin1');
  else res.end(body);
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

export function sendJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: OutgoingHttpHeaders = {},
): void {
  sendBody(res, status, Buffer.from(JSON.stringify(value)), { ...JSON_TYPE, ...headers });
}

export interface JsonResponse {
  readonly status: number;
  readonly value: unknown;
  readonly headers: OutgoingHttpHeaders;
}

/**
 * Answers a request whose body may still be arriving. Where it is, the connection is closed, but only after
 * the rest was read (see `endAfterRest`).
 */
export function sendJsonEarly(
  req: IncomingMessage,
  res: ServerResponse,
  { status, value, headers }: JsonResponse,
  rest: RestPlan,
): void {
  if (req.complete) return sendJson(res, status, value, headers);
  if (res.destroyed || res.headersSent) return;
  const body = Buffer.from(JSON.stringify(value));
  res.writeHead(status, {
    'cache-control': 'no-store',
    ...NOSNIFF,
    ...JSON_TYPE,
    ...headers,
    connection: 'close',
    'content-length': body.length,
  });
  res.write(body);
  endAfterRest(req, res, rest);
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

/** The `Retry-After` of an error, in whole seconds and at least one; no header where waiting does not help. */
export function retryAfterHeader({ retryAfterMs }: HttpError): Record<string, string> {
  if (typeof retryAfterMs !== 'number') return {};
  return { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) };
}
