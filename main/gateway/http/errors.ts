import type {
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import { ANSWER_HEADERS } from '#shared/answer-headers.ts';
import { anthropicErrorType, type ErrorBody, type GatewayErrorCode } from '#shared/errors.ts';
import { invalidRequest, type Refusal } from '../../platform/http/routes.ts';
import {
  errorBodyFrom,
  type HttpError,
  type RestPlan,
  sendHttpError,
} from '../../platform/http/responses.ts';

/** An error of the gateway's own, ready to be sent. */
export interface GatewayError extends HttpError {
  readonly code: GatewayErrorCode;
}

/** A parameter, or field of the body, that cannot be used; `rule` as in "must be …". */
export const invalidParam = (param: string, rule: string): Refusal =>
  invalidRequest(`'${param}' ${rule}.`, param);

/** An error as the answer of a route. */
export const refused = (error: GatewayError): Refusal => ({ kind: 'refused', ...error });

/** The answer for something that is not there. */
export const notFound = (message: string): Refusal =>
  refused({ status: 404, code: 'not_found', message });

/** The API whose clients read an error. */
export type ErrorShape = 'openai' | 'anthropic' | 'ollama';

interface RequestHead {
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

export function errorShapeFor({ url = '', headers }: RequestHead): ErrorShape {
  const [, route] = /^\/(?:api\/)?v1\/(messages|models)(?:[/?]|$)/.exec(url) ?? [];
  // Both APIs list their models there.
  const isAsked = route === 'models' && headers['anthropic-version'] !== undefined;
  if (route === 'messages' || isAsked) return 'anthropic';
  return isOllamaPath(url) ? 'ollama' : 'openai';
}

/** Routes of Ollama's own API, which has no version in its paths. */
export function isOllamaPath(url: string): boolean {
  return /^\/api\/(chat|generate|tags|embed|embeddings|show|ps|version|pull|create|copy|delete|push)([/?]|$)/.test(
    url,
  );
}

export const openaiError = (error: HttpError): ErrorBody => errorBodyFrom(error, 'gateway');

/** Of Anthropic's API; in a stream, the event as well. */
export function anthropicError(
  { status, message, code }: HttpError,
  request_id: string | null = null,
) {
  const error = { type: anthropicErrorType(status), message, code };
  return { type: 'error', error, request_id, src: 'gateway' } as const;
}

/** Answers with an error of the gateway's own, in the caller's shape; with `rest`, the request's body may still be arriving. */
export function sendError(
  res: ServerResponse,
  error: GatewayError,
  headers: OutgoingHttpHeaders = {},
  rest: RestPlan | null = null,
): void {
  // Client libraries retry twice by default; every upstream was already tried.
  const isFinal = error.status >= 500 && typeof error.retryAfterMs !== 'number';
  const all = isFinal ? { 'x-should-retry': 'false', ...headers } : headers;
  sendHttpError(res, error, bodyFor(res.req, error, headers), all, rest);
}

/** In the shape that the caller reads, and with the id of its request if the headers have one. */
export function bodyFor(
  req: IncomingMessage,
  error: HttpError,
  { [ANSWER_HEADERS.requestId]: id }: OutgoingHttpHeaders,
): object {
  switch (errorShapeFor(req)) {
    case 'openai':
      return openaiError(error);
    case 'anthropic':
      return anthropicError(error, typeof id === 'string' ? id : null);
    case 'ollama':
      return { error: error.message, src: 'gateway' };
  }
}
