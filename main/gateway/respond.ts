import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { errorBody, errorHeaders, type GatewayError } from './errors.ts';

/** Answers with a JSON value. */
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

/** Answers with bytes that are there as a whole. */
export function sendBody(
  res: ServerResponse,
  status: number,
  body: Buffer,
  headers: OutgoingHttpHeaders,
): void {
  if (res.destroyed || res.headersSent) return;
  res.writeHead(status, { 'cache-control': 'no-store', ...headers, 'content-length': body.length });
  res.end(body);
}

/** Answers with an error of the gateway's own. */
export function sendError(
  res: ServerResponse,
  error: GatewayError,
  headers: OutgoingHttpHeaders = {},
): void {
  sendJson(res, error.status, errorBody(error), { ...errorHeaders(error), ...headers });
}
