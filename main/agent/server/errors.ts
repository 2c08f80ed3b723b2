import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ServerErrorCode } from '#shared/errors.ts';
import {
  errorBodyFrom,
  type HttpError,
  type RestPlan,
  sendHttpError,
} from '../../platform/http/responses.ts';

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

/** Answers with an error in OpenAI's format; does nothing once the response head has been sent. */
export function sendError(
  res: ServerResponse,
  error: AgentError,
  rest: RestPlan | null = null,
): void {
  sendHttpError(res, error, errorBodyFrom(error, 'agent'), error.headers ?? {}, rest);
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
