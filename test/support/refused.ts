import {
  adjustedBody,
  type Adjustment,
  adjustmentAfter,
} from '../../main/gateway/upstream/adjustments.ts';
import { readErrorBody } from '../../main/gateway/protocols/upstream-error.ts';

export const NONE: ReadonlySet<Adjustment> = new Set();

/** The change of this body that a refusal asks for; null if it asks for none. */
export function after(
  path: string,
  body: object,
  refusal: unknown,
  { made = NONE, mayBeWhole = true, status = 400 } = {},
): Adjustment | null {
  const text = typeof refusal === 'string' ? refusal : JSON.stringify(refusal);
  const error = readErrorBody(Buffer.from(text));
  return adjustmentAfter({
    status,
    error,
    path,
    body: Buffer.from(JSON.stringify(body)),
    made,
    mayBeWhole,
  });
}

/** The body with these changes. */
export const adjusted = (body: object, ...made: Adjustment[]): unknown =>
  JSON.parse(adjustedBody(Buffer.from(JSON.stringify(body)), new Set(made)).toString());

/** In OpenAI's shape. */
export const error = (message: string, more: object = {}) => ({ error: { message, ...more } });
/** In Mistral's shape: a field that it does not take. */
export const forbidden = (...loc: (string | number)[]) => ({
  detail: [
    { type: 'extra_forbidden', loc: ['body', ...loc], msg: 'Extra inputs are not permitted' },
  ],
});

export const call = (id: string, more: object = {}) => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: '{}' },
  ...more,
});
/** A tool loop, in chat form. */
export const LOOP = [
  { role: 'user', content: 'a' },
  { role: 'assistant', content: null, reasoning_content: 'hm', tool_calls: [call('call_1')] },
  { role: 'tool', tool_call_id: 'call_1', content: 'b' },
];
