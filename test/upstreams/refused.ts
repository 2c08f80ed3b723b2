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

/** In the shape of pydantic, as Mistral sends it for a field that it does not know. */
export const extraForbidden = (...loc: readonly (string | number)[]): Json => ({
  detail: [
    { type: 'extra_forbidden', loc: ['body', ...loc], msg: 'Extra inputs are not permitted' },
  ],
});

/** Messages of a conversation with another system, in which a tool was called. */
export const TOOL_LOOP: readonly Json[] = [
  { role: 'user', content: 'hi' },
  {
    role: 'assistant',
    content: null,
    reasoning_content: 'Hm.',
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
];
