import type { Json, Refusal } from './system.ts';

/** A refusal: what it means to the gateway, its status and its body. */
export const refused = (
  reason: Refusal['reason'],
  status: number,
  body: Refusal['body'],
  more: Pick<Refusal, 'headers' | 'waitMs'> = {},
): Refusal => ({ reason, status, body, ...more });

/** In OpenAI's shape. */
export const openAi = (
  message: string,
  code: string | null,
  type = 'invalid_request_error',
): Json => ({
  error: { message, type, param: null, code },
});

/** In Anthropic's. */
export const anthropic = (type: string, message: string): Json => ({
  type: 'error',
  error: { type, message },
});

/** In Google's. */
export const google = (
  code: number,
  message: string,
  status: string,
  details: readonly Json[] = [],
): readonly Json[] => [{ error: { code, message, status, details } }];

/** In OpenRouter's. */
export const openRouter = (code: number, message: string, metadata?: Json): Json => ({
  error: { code, message, ...(metadata === undefined ? {} : { metadata }) },
});
