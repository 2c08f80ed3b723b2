import { readErrorBody } from '../../main/gateway/protocols/upstream-error.ts';
import {
  adjustedBody,
  type Adjustment,
  adjustmentsAfter,
} from '../../main/gateway/upstream/adjustments.ts';

export const CHAT = '/chat/completions';
export const MESSAGES = '/messages';
export const RESPONSES = '/responses';
export type Json = Readonly<Record<string, unknown>>;

/** Who says what (words alone: in OpenAI's shape), where, to what, and what it takes. */
export type Row = readonly [
  who: string,
  says: string | Json,
  path: string,
  sent: Json,
  taken: Json,
];

export const user = (content: string) => ({ role: 'user', content });
export const note = (content: string) => ({ role: 'system', content });
export const developer = (content: string) => ({ role: 'developer', content });
export const text = { type: 'text', text: 'a' };
const call = (id: string, more: Json = {}) => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: '{}' },
  ...more,
});
export const calls = (id: string, more: Json = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls: [call(id, more)],
});
export const result = (tool_call_id: string) => ({ role: 'tool', tool_call_id, content: 'b' });
export const use = (id: string) => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'f', input: {} }],
});
export const useResult = (tool_use_id: string) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id, content: 'a' }],
});
export const messages = (...all: readonly unknown[]) => ({ messages: all });
export const input = (...all: readonly unknown[]) => ({ input: all });
export const tool = (parameters: unknown, name = 'a') => ({
  type: 'function',
  function: { name, parameters },
});
export const tools = (...all: readonly unknown[]) => ({ tools: all });
export const EMPTY = { type: 'object', properties: {} };

/** In the shape of pydantic, as Mistral and vLLM send it. */
export const pydantic = (msg: string, ...locs: readonly (readonly (string | number)[])[]) => ({
  detail: locs.map((loc) => ({ type: 'fault', loc: ['body', ...loc], msg })),
});
export const forbidden = (...locs: readonly (readonly (string | number)[])[]) =>
  pydantic('Extra inputs are not permitted', ...locs);
export const withParam = (param: string, message: string, code = 'unsupported_parameter') => ({
  error: { message, param, code },
});
export const gemini = (...names: readonly string[]) => [
  {
    error: {
      code: 400,
      message: names
        .map((name) => `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`)
        .join('\n'),
      status: 'INVALID_ARGUMENT',
    },
  },
];

export const thinking = { type: 'thinking', thinking: 'hm', signature: 'x' };
export const ENABLED = { type: 'enabled', budget_tokens: 1024 };
export const said = (...content: readonly unknown[]) => ({ role: 'assistant', content });
export const thought = (id: string) => ({
  type: 'reasoning',
  id,
  summary: [],
  encrypted_content: 'x',
});
export const item = { type: 'message', role: 'assistant', content: [] };
export const LONG = 'c'.repeat(70);
export const ROLES = "messages[1].role must be either 'user' or 'assistant', but got 'system'";

export const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));

/** The changes that a refusal asks for, what is sent then, and what it asks for if it comes again. */
export function answerTo(
  path: string,
  says: unknown,
  sent: Json,
  how: { status?: number; mayBeWhole?: boolean; headers?: readonly string[] } = {},
) {
  const { status = 400, mayBeWhole = true, headers = [] } = how;
  const error = readErrorBody(
    bytesOf(typeof says === 'string' ? { error: { message: says } } : says),
  );
  const bodyWith = (made: ReadonlySet<Adjustment>) => adjustedBody(bytesOf(sent), made);
  const ask = (made: ReadonlySet<Adjustment>) =>
    adjustmentsAfter({ status, error, path, body: bodyWith(made), headers, made, mayBeWhole });
  const made = ask(new Set());
  const taken: unknown = JSON.parse(bodyWith(new Set(made)).toString());
  return { made, taken, again: ask(new Set(made)) };
}
