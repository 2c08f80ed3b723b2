import { anthropicErrorType } from '#shared/errors.ts';
import { errorBodyFrom, type HttpError } from '../../../platform/http/responses.ts';

/** The upstream's stream ended before its answer did. */
export const NO_FINISH = 'The upstream ended its answer without a finish reason.';

/** For an error in an upstream's answer. */
export function badResponse(message: string): HttpError {
  return { status: 502, code: 'upstream_bad_response', message };
}

/** An error in the shape of OpenAI's APIs. */
export const openAiError = (error: HttpError) => errorBodyFrom(error, 'gateway');

/** An error in the shape of Anthropic's APIs. */
export function anthropicError({ status, message, code }: HttpError) {
  const type = anthropicErrorType(status);
  return { type: 'error', error: { type, message, code }, request_id: null, src: 'gateway' };
}
