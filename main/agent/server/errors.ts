import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { endAfterRest, type RestPlan } from '../../platform/http/server.ts';

export interface AgentError {
  readonly status: number;
  readonly code:
    | 'host_not_allowed'
    | 'origin_not_allowed'
    | 'unauthorized'
    | 'not_found'
    | 'method_not_allowed'
    | 'unsupported_media_type'
    | 'body_too_large'
    | 'invalid_request'
    | 'paused'
    | 'draining'
    | 'busy'
    | 'no_engine'
    | 'engine_unreachable'
    | 'engine_timeout'
    | 'engine_bad_response'
    | 'internal_error';
  readonly message: string;
  readonly headers?: OutgoingHttpHeaders;
}

/** The rest of a body that is refused for its size or sender is read no further than this. */
export const MAX_REST_BYTES = 64 * 1024;

/** Answers with an error in OpenAI's format; does nothing once the response head is out. */
export function sendError(res: ServerResponse, error: AgentError): void {
  if (res.destroyed || res.headersSent) return;
  const body = bodyOf(error);
  res.writeHead(error.status, { ...headersOf(error), 'content-length': body.length }).end(body);
}

/**
 * Answers while the request body may still be arriving, and closes the connection. Closing at once would
 * reset it, and the sender would lose the answer unread.
 */
export function sendErrorEarly(
  req: IncomingMessage,
  res: ServerResponse,
  error: AgentError,
  rest: RestPlan,
): void {
  if (req.complete) {
    sendError(res, error);
    return;
  }
  if (res.destroyed || res.headersSent) return;
  const body = bodyOf(error);
  res.writeHead(error.status, {
    ...headersOf(error),
    connection: 'close',
    'content-length': body.length,
  });
  res.write(body);
  endAfterRest(req, res, rest);
}

function headersOf({ headers }: AgentError): OutgoingHttpHeaders {
  return {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...headers,
  };
}

function bodyOf({ status, code, message }: AgentError): Buffer {
  const error = { message, type: typeOf(status), code, param: null };
  return Buffer.from(JSON.stringify({ error, src: 'agent' }));
}

/** OpenAI's error types. */
function typeOf(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 403:
      return 'permission_error';
    case 404:
      return 'not_found_error';
    default:
      return status < 500 ? 'invalid_request_error' : 'server_error';
  }
}

/** The error for requests while none are taken. */
export function closedError(
  mode: 'paused' | 'draining' | 'leaving',
  reasons: readonly string[],
): AgentError {
  const why = reasons.join(' ');
  switch (mode) {
    case 'paused':
      return closed('paused', `This machine is paused. ${why}`, 30);
    case 'draining':
      return closed('draining', `This machine is draining. ${why}`, 30);
    case 'leaving':
      return closed('draining', 'This machine is draining: its agent is stopping.', 10);
  }
}

function closed(code: 'paused' | 'draining', message: string, retryAfterS: number): AgentError {
  return {
    status: 503,
    code,
    message: message.trim(),
    headers: { 'retry-after': String(retryAfterS) },
  };
}
