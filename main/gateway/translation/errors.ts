import { errorBodyFrom, type HttpError } from '../../platform/http/responses.ts';

/** The upstream's stream ended before its answer did. */
export const NO_FINISH = 'The upstream ended its answer without a finish reason.';

/** For what an upstream did wrong in its answer. */
export function badResponse(message: string): HttpError {
  return { status: 502, code: 'upstream_bad_response', message };
}

/** An error in the shape of OpenAI's APIs. */
export const openAiError = (error: HttpError) => errorBodyFrom(error, 'gateway');

/** Names of Anthropic's errors by status; 529 is their own for an overload. */
const ANTHROPIC_TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

/** An error in the shape of Anthropic's APIs. */
export function anthropicError({ status, message, code }: HttpError) {
  const other = status < 500 ? 'invalid_request_error' : 'api_error';
  const type = ANTHROPIC_TYPES.get(status) ?? other;
  return { type: 'error', error: { type, message, code }, request_id: null, src: 'gateway' };
}
