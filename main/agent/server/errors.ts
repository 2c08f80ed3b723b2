import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ServerErrorCode } from '#shared/errors.ts';
import {
  errorBodyFrom,
  type HttpError,
  type JsonResponse,
  retryAfterHeader,
  sendJson,
  sendJsonEarly,
} from '../../platform/http/responses.ts';
import type { Clock } from '../../platform/clock.ts';

export interface AgentError extends HttpError {
  readonly code:
    | ServerErrorCode
    | 'unauthorized'
    | 'paused'
    | 'draining'
    | 'busy'
    | 'no_engine'
    | 'engine_unreachable'
    | 'engine_timeout'
    | 'engine_bad_response';
  readonly headers?: OutgoingHttpHeaders;
}

/** How much is still read of a body that is refused for its size or its sender. */
const MAX_REST_BYTES = 64 * 1024;

/** Answers with an error in OpenAI's format; does nothing once the response head has been sent. */
export function sendError(res: ServerResponse, error: AgentError): void {
  const { status, value, headers } = responseOf(error);
  sendJson(res, status, value, headers);
}

/** Answers while the request body may still be arriving; then the connection is closed. */
export function sendErrorEarly(
  req: IncomingMessage,
  res: ServerResponse,
  error: AgentError,
  clock: Clock,
  maxRestBytes = MAX_REST_BYTES,
): void {
  sendJsonEarly(req, res, responseOf(error), { clock, maxRestBytes });
}

function responseOf(error: AgentError): JsonResponse {
  const headers = { ...retryAfterHeader(error), ...error.headers };
  return { status: error.status, value: errorBodyFrom(error, 'agent'), headers };
}

/** The error for requests while none are accepted; `reasons` are sentences shown to the caller. */
export function closedError(
  mode: 'paused' | 'draining' | 'leaving',
  reasons: readonly string[],
): AgentError {
  const isLeaving = mode === 'leaving';
  const code = isLeaving ? 'draining' : mode;
  const message = [`This machine is ${code}.`, ...reasons].join(' ');
  return { status: 503, code, message, retryAfterMs: isLeaving ? 10_000 : 30_000 };
}
