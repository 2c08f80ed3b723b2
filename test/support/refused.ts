import { bodyOf } from '../../main/gateway/protocols/json-edit.ts';
import { readErrorBody } from '../../main/gateway/protocols/upstream-error.ts';
import {
  adjustedBody,
  type Adjustment,
  adjustmentsAfter,
} from '../../main/gateway/upstream/adjustments.ts';

export type Json = Readonly<Record<string, unknown>>;
export type Path = '/chat/completions' | '/messages' | '/responses';

export const [CHAT, MESSAGES, RESPONSES] = [
  '/chat/completions',
  '/messages',
  '/responses',
] as const;

export const user = (content: string) => ({ role: 'user', content });
export const note = (content: string) => ({ role: 'system', content });
export const developer = (content: string) => ({ role: 'developer', content });
export const said = (...content: readonly unknown[]) => ({ role: 'assistant', content });
export const text = { type: 'text', text: 'a' };
export const thinking = { type: 'thinking', thinking: 'hm', signature: 'x' };
const fn = { name: 'a', arguments: '{}' };
export const calls = (id: string, more: Json = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: fn, ...more }],
});
export const result = (tool_call_id: string) => ({ role: 'tool', tool_call_id, content: 'b' });
export const use = (id: string) => said({ type: 'tool_use', id, name: 'a', input: {} });
export const useResult = (tool_use_id: string) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id, content: 'a' }],
});
export const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' };
export const item = { type: 'message', role: 'assistant', content: [] };
export const messages = (...all: readonly unknown[]) => ({ messages: all });
export const input = (...all: readonly unknown[]) => ({ input: all });
export const tool = (parameters: unknown, name = 'a') => ({
  type: 'function',
  function: { name, parameters },
});
export const EMPTY = { type: 'object', properties: {} };
export const ENABLED = { type: 'enabled', budget_tokens: 1024 };
export const EDITS = { edits: [{ type: 'clear_thinking_20251015' }, { type: 'other' }] };

/** Fields that agents and apps send without a need for them. */
export const FIELDS = {
  store: false,
  metadata: { user_id: 'x' },
  safety_identifier: 'x',
  service_tier: 'auto',
  top_k: 40,
  top_p: 0.5,
  temperature: 0,
  frequency_penalty: 0,
  seed: 7,
  user: 'bob',
  reasoning: { effort: 'xhigh', summary: 'auto' },
  reasoning_effort: 'xhigh',
  parallel_tool_calls: false,
  prompt_cache_key: 'k',
  verbosity: 'low',
  include: ['reasoning.encrypted_content'],
  context_management: EDITS,
  chat_template_kwargs: { enable_thinking: false },
};

/** A request that has something of everything. */
export const ASKED: Readonly<Record<Path, Json>> = {
  [CHAT]: {
    ...FIELDS,
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 32_000,
    tools: [tool({ type: 'object' }), tool(EMPTY, 'b')],
    tool_choice: { type: 'function', function: { name: 'b' } },
    prompt_logprobs: 1,
    stop: ['a', 'b', 'c', 'd', 'e'],
    response_format: { type: 'json_object' },
    messages: [
      developer('a'),
      { ...said(thinking), annotations: [] },
      { ...calls('call_1', { index: 0 }), refusal: null, reasoning_content: 'hm' },
      calls('call_2', { function: { name: 'a', arguments: '{"b": "c' } }),
      result('call_1'),
      {
        role: 'user',
        content: [
          { type: 'video', video: 'x' },
          { type: 'image_url', image_url: {} },
        ],
      },
    ],
  },
  [MESSAGES]: {
    ...FIELDS,
    system: 'a',
    max_tokens: 32_000,
    thinking: { type: 'adaptive' },
    output_config: { effort: 'max', format: {} },
    tools: [
      {
        name: 'a',
        cache_control: { type: 'ephemeral', scope: 'global' },
        eager_input_streaming: true,
        input_schema: { anyOf: [{}], type: 'object', properties: { eager_input_streaming: {} } },
      },
    ],
    messages: [
      user('a'),
      said(),
      said(thinking, text),
      use('a:0'),
      useResult('a:0'),
      useResult('b'),
      note('b'),
    ],
  },
  [RESPONSES]: {
    ...FIELDS,
    text: { verbosity: 'low', format: {} },
    tools: [
      { type: 'function', name: 'a' },
      { type: 'namespace', name: 'b', tools: [] },
    ],
    tool_choice: { type: 'function', name: 'a' },
    max_output_tokens: 1,
    input: [
      thought,
      { id: 'msg_1', status: 'completed', ...item },
      { type: 'function_call', call_id: 'c'.repeat(70) },
      developer('b'),
    ],
  },
};

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));
const sentWith = (sent: Json, made: ReadonlySet<Adjustment>): Buffer =>
  adjustedBody(bodyOf(bytesOf(sent)), made).bytes;

export const adjusted = (sent: Json, ...made: Adjustment[]): unknown =>
  JSON.parse(sentWith(sent, new Set(made)).toString());

interface How {
  readonly sent?: Json;
  readonly made?: readonly Adjustment[];
  readonly status?: number;
  readonly mayBeWhole?: boolean;
  readonly headers?: readonly string[];
}

/** What a refusal asks for: its body, or its words in OpenAI's shape. */
export function askedBy(
  says: unknown,
  path: Path | '/embeddings',
  how: How = {},
): readonly Adjustment[] {
  const { sent = ASKED[path as Path], status = 400, mayBeWhole = true, headers = [] } = how;
  const body = typeof says === 'string' ? { error: { message: says } } : says;
  const made = new Set(how.made);
  const error = readErrorBody(bytesOf(body));
  const isForWords = path !== '/embeddings';
  const asked = { isForWords, body: sentWith(sent, made), headers, made, mayBeWhole };
  return adjustmentsAfter({ status, error, ...asked });
}

/** In the shape of pydantic, as Mistral and vLLM send it. */
export const pydantic = (msg: string, ...paths: readonly string[]) => ({
  detail: paths.map((path) => ({ type: 'fault', loc: ['body', ...path.split('.')], msg })),
});
export const forbidden = (...paths: readonly string[]) =>
  pydantic('Extra inputs are not permitted', ...paths);
export const unknownName = (name: string) =>
  `Invalid JSON payload received. Unknown name "${name}": No.`;
export const withParam = (param: string, message: string, code = 'unsupported_parameter') => ({
  error: { message, param, code },
});
