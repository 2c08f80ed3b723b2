import { expect, test } from 'vitest';
import { readErrorBody } from '../../../main/gateway/protocols/upstream-error.ts';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import {
  adjustedBody,
  adjustedHeaders,
  type Adjustment,
  adjustmentsAfter,
  knownRefusals,
  learnRefusals,
  suspectUsage,
} from '../../../main/gateway/upstream/adjustments.ts';
import { createManualClock } from '../../support/clock.ts';

const CHAT = '/chat/completions';
const MESSAGES = '/messages';
const RESPONSES = '/responses';
type Json = Readonly<Record<string, unknown>>;

/** Who says what (words alone: in OpenAI's shape), where, to what, and what it takes. */
type Row = readonly [who: string, says: string | Json, path: string, sent: Json, taken: Json];

const user = (content: string) => ({ role: 'user', content });
const note = (content: string) => ({ role: 'system', content });
const developer = (content: string) => ({ role: 'developer', content });
const text = { type: 'text', text: 'a' };
const call = (id: string, more: Json = {}) => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: '{}' },
  ...more,
});
const calls = (id: string, more: Json = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls: [call(id, more)],
});
const result = (tool_call_id: string) => ({ role: 'tool', tool_call_id, content: 'b' });
const use = (id: string) => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'f', input: {} }],
});
const useResult = (tool_use_id: string) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id, content: 'a' }],
});
const messages = (...all: readonly unknown[]) => ({ messages: all });
const input = (...all: readonly unknown[]) => ({ input: all });
const tool = (parameters: unknown, name = 'a') => ({
  type: 'function',
  function: { name, parameters },
});
const tools = (...all: readonly unknown[]) => ({ tools: all });
const EMPTY = { type: 'object', properties: {} };

/** In the shape of pydantic, as Mistral and vLLM send it. */
const pydantic = (msg: string, ...locs: readonly (readonly (string | number)[])[]) => ({
  detail: locs.map((loc) => ({ type: 'fault', loc: ['body', ...loc], msg })),
});
const forbidden = (...locs: readonly (readonly (string | number)[])[]) =>
  pydantic('Extra inputs are not permitted', ...locs);
const withParam = (param: string, message: string, code = 'unsupported_parameter') => ({
  error: { message, param, code },
});
const gemini = (...names: readonly string[]) => [
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

/** Fields that agents and apps send, and the words in which hosts do not take them. */
const FIELDS: Readonly<Record<string, unknown>> = {
  store: false,
  metadata: { user_id: 'x' },
  safety_identifier: 'x',
  service_tier: 'auto',
  top_k: 40,
  top_p: 0.5,
  temperature: 0,
  frequency_penalty: 0,
  presence_penalty: 0,
  seed: 7,
  user: 'bob',
  reasoning: { effort: 'low' },
  reasoning_effort: 'low',
  parallel_tool_calls: false,
  prompt_cache_key: 'k',
  prompt_cache_retention: '24h',
  verbosity: 'low',
  stream_options: { include_usage: true },
  context_management: { edits: [] },
  chat_template_kwargs: { enable_thinking: false },
};
const WORDS: Readonly<Record<string, (field: string) => unknown>> = {
  'Gemini at its address for OpenAI’s clients': (field) => gemini(field),
  Mistral: (field) => ({ object: 'error', message: forbidden([field]) }),
  Groq: (field) => `property '${field}' is unsupported`,
  'Azure with models of others': (field) => `Unrecognized request argument supplied: ${field}`,
  'NVIDIA NIM': (field) => `Validation: Unsupported parameter(s): \`${field}\``,
  'OpenAI without a parameter': (field) =>
    `Unsupported parameter: '${field}' is not supported with this model.`,
  OpenAI: (field) => withParam(field, `Unknown parameter: '${field}'.`, 'unknown_parameter'),
  Vertex: (field) => `${field}: Extra inputs are not permitted`,
  'serde, as in mistral.rs': (field) => `unknown field \`${field}\`, expected one of \`model\``,
  Cerebras: (field) => ({
    message: `${field} is not supported by this model.`,
    param: field,
    code: 'wrong_api_format',
  }),
};

const HOST_BY_FIELD: readonly Row[] = Object.entries(WORDS).flatMap(([who, words]) =>
  Object.entries(FIELDS).map(([field, value]): Row => {
    const says = words(field) as string | Json;
    return [`${who} takes no ${field}`, says, CHAT, { [field]: value, n: 1 }, { n: 1 }];
  }),
);

const thinking = { type: 'thinking', thinking: 'hm', signature: 'x' };
const ENABLED = { type: 'enabled', budget_tokens: 1024 };
const said = (...content: readonly unknown[]) => ({ role: 'assistant', content });
const thought = (id: string) => ({ type: 'reasoning', id, summary: [], encrypted_content: 'x' });
const item = { type: 'message', role: 'assistant', content: [] };
const LONG = 'c'.repeat(70);
const ROLES = "messages[1].role must be either 'user' or 'assistant', but got 'system'";

const INSIDE: readonly Row[] = [
  [
    'all that is named goes at once',
    forbidden(['store'], ['n', 'x'], ['seed']),
    CHAT,
    { store: true, seed: 1 },
    {},
  ],
  [
    'Gemini names each on its line',
    { error: gemini('store', 'user')[0]?.error },
    CHAT,
    { store: true, user: 'b' },
    {},
  ],
  [
    'what a host recommends stays',
    "Unsupported parameter: 'seed'. See 'user' in the manual.",
    CHAT,
    { seed: 1, user: 'u' },
    { user: 'u' },
  ],
  [
    'xAI writes in camel case',
    'Model grok-4 does not support parameter reasoningEffort.',
    CHAT,
    { reasoning_effort: 'low' },
    {},
  ],
  // github.com/openai/codex/issues/36735
  [
    'gpt-4o takes no effort',
    withParam(
      'reasoning.effort',
      "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    ),
    RESPONSES,
    { reasoning: { effort: 'none', summary: 'auto' } },
    { reasoning: { summary: 'auto' } },
  ],
  [
    'an object goes with the last of its fields',
    withParam('text.verbosity', "Unknown parameter: 'text.verbosity'."),
    RESPONSES,
    { text: { verbosity: 'low' } },
    {},
  ],
  [
    'Mistral takes no thought of before',
    forbidden(['messages', 1, 'assistant', 'reasoning_content']),
    CHAT,
    messages(user('a'), { ...said(), content: 'b', reasoning_content: 'hm' }),
    messages(user('a'), { ...said(), content: 'b' }),
  ],
  [
    'Groq takes no annotations',
    "'messages.0' : for 'role:assistant' the following must be satisfied[('messages.0' : property 'annotations' is unsupported)]",
    CHAT,
    messages({ ...said(), annotations: [] }),
    messages(said()),
  ],
  [
    'vLLM tells a path as Python writes it',
    "1 validation error: {'type': 'extra_forbidden', 'loc': ('body', 'messages', 0, 'refusal'), 'msg': 'Extra inputs are not permitted'}",
    CHAT,
    messages({ ...said(), refusal: null }),
    messages(said()),
  ],
  [
    'Mistral takes no places of calls',
    forbidden(['messages', 0, 'assistant', 'tool_calls', 0, 'index']),
    CHAT,
    messages(calls('c', { index: 0 })),
    messages(calls('c')),
  ],
  [
    'OpenAI takes no status of an engine',
    "Unknown parameter: 'input[1].status'.",
    RESPONSES,
    input(user('a'), { ...item, status: 'completed' }),
    input(user('a'), item),
  ],
  [
    'Vertex takes no scope of a cache',
    'tools.0.custom.cache_control.scope: Extra inputs are not permitted',
    MESSAGES,
    tools({ name: 'a', cache_control: { type: 'ephemeral', scope: 'global' } }),
    tools({ name: 'a', cache_control: { type: 'ephemeral' } }),
  ],
  [
    'Bedrock streams no inputs of tools',
    'tools.0.custom.eager_input_streaming: Extra inputs are not permitted',
    MESSAGES,
    tools({ name: 'a', eager_input_streaming: true, input_schema: { eager_input_streaming: 1 } }),
    tools({ name: 'a', input_schema: { eager_input_streaming: 1 } }),
  ],
  [
    'OpenAI’s models that do not think encrypt nothing',
    withParam('include', 'Encrypted content is not supported with this model.'),
    RESPONSES,
    { input: 'a', include: ['reasoning.encrypted_content'] },
    { input: 'a' },
  ],
  // github.com/anomalyco/opencode/issues/28930
  [
    'Claude takes a temperature or a top_p',
    '`temperature` and `top_p` cannot both be specified for this model.',
    MESSAGES,
    { temperature: 0.2, top_p: 0.4 },
    { temperature: 0.2 },
  ],
  [
    'Kimi thinks at one temperature',
    'invalid temperature: only 1 is allowed for this model',
    CHAT,
    { temperature: 0 },
    {},
  ],
  [
    'OpenAI takes 64 characters of a user',
    withParam('user', "Invalid 'user': string too long.", 'string_above_max_length'),
    CHAT,
    { user: LONG },
    {},
  ],
  ['Ollama does not think', '"m" does not support thinking', CHAT, { reasoning_effort: 'low' }, {}],
  [
    'Haiku 4.5 takes no effort',
    'This model does not support the effort parameter.',
    MESSAGES,
    { output_config: { effort: 'high', format: {} } },
    { output_config: { format: {} } },
  ],
  // github.com/anthropics/claude-code/issues/2245, #29531, #89633; strands-agents/harness-sdk/issues/1856
  ...[
    "'claude-3-5-sonnet-20241022' does not support thinking.",
    'adaptive thinking is not supported on this model',
    "Only 'enabled' and 'disabled' are supported for thinking; 'adaptive' is not supported.",
    "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
  ].map((says): Row => {
    const edits = [{ type: 'clear_thinking_20251015' }, { type: 'other' }];
    const sent = { thinking: { type: 'adaptive' }, context_management: { edits } };
    return [says, says, MESSAGES, sent, { context_management: { edits: edits.slice(1) } }];
  }),
];

/** Another value may be taken, so only this one is left out. */
const VALUES: readonly Row[] = [
  // github.com/openai/codex/issues/6647
  [
    'gpt-5.1-codex thinks in any case',
    withParam(
      'reasoning.effort',
      "Unsupported value: 'none' is not supported with the 'gpt-5.1-codex' model. Supported values are: 'low', 'medium', and 'high'.",
      'unsupported_value',
    ),
    RESPONSES,
    { reasoning: { effort: 'none', summary: 'auto' } },
    { reasoning: { summary: 'auto' } },
  ],
  [
    'Opus 4.5 knows three words',
    "output_config.effort: Input should be 'low', 'medium' or 'high'",
    MESSAGES,
    { output_config: { effort: 'max', format: {} } },
    { output_config: { format: {} } },
  ],
  [
    'Groq knows two words',
    '`reasoning_effort` must be one of `none` or `default`',
    CHAT,
    { reasoning_effort: 'low' },
    {},
  ],
  [
    'Ollama knows some',
    'think value "medium" is not supported for this model',
    CHAT,
    { reasoning_effort: 'medium' },
    {},
  ],
  [
    'vLLM knows three',
    "1 validation error: {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'none'}",
    CHAT,
    { reasoning_effort: 'none' },
    {},
  ],
  [
    'gpt-4.1 says as much as it likes',
    "Unsupported value: 'verbosity' does not support 'low' with this model. Supported values are: 'medium'.",
    CHAT,
    { verbosity: 'low' },
    {},
  ],
];

const REWRITTEN: readonly Row[] = [
  [
    'OpenAI’s later models have another name for the limit',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    CHAT,
    { max_tokens: 9 },
    { max_completion_tokens: 9 },
  ],
  [
    'Mistral has the older one',
    forbidden(['max_completion_tokens']),
    CHAT,
    { max_completion_tokens: 9 },
    { max_tokens: 9 },
  ],
  [
    'an organisation that is not verified gets no stream',
    'Your organization must be verified to stream this model.',
    CHAT,
    { stream: true, stream_options: {} },
    { stream: false },
  ],
  [
    'vLLM has some fields without a stream',
    '`prompt_logprobs` are not available when `stream=True`.',
    CHAT,
    { stream: true, prompt_logprobs: 1 },
    { stream: false, prompt_logprobs: 1 },
  ],
  // github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670
  ...[CHAT, RESPONSES].map((path): Row => {
    const says =
      "Invalid tool_choice type: 'object'. Supported string values: none, auto, required";
    const choice =
      path === CHAT
        ? { type: 'function', function: { name: 'b' } }
        : { type: 'function', name: 'b' };
    const sent = { tool_choice: choice, ...tools(tool(EMPTY), tool(EMPTY, 'b')) };
    return [
      `LM Studio takes no tool by name, ${path}`,
      says,
      path,
      sent,
      { tool_choice: 'required', ...tools(tool(EMPTY, 'b')) },
    ];
  }),
  [
    'gpt-5.6 thinks with tools only if it is told not to',
    'Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions.',
    CHAT,
    tools(tool(EMPTY)),
    { ...tools(tool(EMPTY)), reasoning_effort: 'none' },
  ],
  [
    'Opus 4.8 thinks as long as it likes',
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
    MESSAGES,
    { thinking: ENABLED },
    { thinking: { type: 'adaptive' } },
  ],
  [
    'OpenAI wants to hear of no properties',
    "Invalid schema for function 'a': In context=(), object schema missing properties.",
    MESSAGES,
    tools({ name: 'a', input_schema: { type: 'object' } }),
    tools({ name: 'a', input_schema: EMPTY }),
  ],
  // github.com/openai/codex/issues/36441
  ...[{}, { type: null }, { oneOf: [], $defs: {} }, null].map((schema): Row => [
    `DeepSeek wants an object, not ${JSON.stringify(schema)}`,
    withParam(
      'tools',
      `Invalid schema for function 'a': schema must be a JSON Schema of 'type: "object"', got 'type: null'.`,
      'invalid_function_parameters',
    ),
    CHAT,
    tools(tool(schema), { type: 'web_search' }),
    tools(tool({ ...schema, ...EMPTY }), { type: 'web_search' }),
  ]),
  [
    'Kimi wants a thought',
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
    CHAT,
    messages(calls('c')),
    messages({ ...calls('c'), reasoning_content: '.' }),
  ],
  [
    'DeepSeek wants its own name for it',
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    CHAT,
    messages({ ...said(), reasoning: 'hm' }),
    messages({ ...said(), reasoning: 'hm', reasoning_content: 'hm' }),
  ],
  [
    'Gemini wants a signature',
    'Function call is missing a thought_signature in functionCall parts.',
    CHAT,
    messages(calls('c')),
    messages(
      calls('c', {
        extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } },
      }),
    ),
  ],
  [
    'Mistral takes nine letters and digits of an id',
    'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.',
    CHAT,
    messages(calls('call_1'), result('call_1'), calls('abcdefgh9')),
    messages(calls('74196fe72'), result('74196fe72'), calls('abcdefgh9')),
  ],
  [
    'OpenAI takes forty characters',
    "Invalid 'messages[0].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 43 instead.",
    CHAT,
    messages(calls('call_1'), result('call_1')),
    messages(calls('74196fe72'), result('74196fe72')),
  ],
  [
    'OpenAI takes 64 in responses',
    withParam(
      'input[0].call_id',
      "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64.",
      'string_above_max_length',
    ),
    RESPONSES,
    input(
      { type: 'function_call', call_id: LONG },
      { type: 'function_call_output', call_id: LONG },
    ),
    input(
      { type: 'function_call', call_id: '6fe5981a3' },
      { type: 'function_call_output', call_id: '6fe5981a3' },
    ),
  ],
  [
    'Anthropic takes plain ids',
    "messages.0.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    MESSAGES,
    messages(use('a:0'), useResult('a:0')),
    messages(use('0ed32d335'), useResult('0ed32d335')),
  ],
  [
    'Anthropic takes an id once',
    'messages.5.content.0: `tool_use` ids must be unique',
    MESSAGES,
    messages(use('abcdefgh9'), useResult('abcdefgh9'), use('abcdefgh9'), useResult('abcdefgh9')),
    messages(use('abcdefgh9'), useResult('abcdefgh9'), use('09a5cc7bd'), useResult('09a5cc7bd')),
  ],
  [
    'Mistral wants the model to speak between a result and a user',
    "Unexpected role 'user' after role 'tool'",
    CHAT,
    messages(calls('c'), result('c'), result('d'), user('b')),
    messages(
      calls('c'),
      result('c'),
      result('d'),
      { role: 'assistant', content: 'Done.' },
      user('b'),
    ),
  ],
];

const TURNS: readonly Row[] = [
  ...[
    'Assistant message must have either content or tool_calls, but not none.',
    'messages.1: all messages must have non-empty content except for the optional final assistant message',
    "Invalid value for 'content': expected a string, got null.",
    'invalid message content type: <nil>',
    'Invalid assistant message: content or tool_calls must be set',
    "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1",
  ].map((says): Row => {
    const silent = [
      { ...said(), content: null, reasoning_content: 'hm' },
      { ...said(), content: '' },
      { ...said(), tool_calls: [] },
    ];
    const sent = messages(
      user('a'),
      ...silent,
      user(''),
      calls('c'),
      { ...said(text), tool_calls: [] },
      user(''),
    );
    return [says, says, CHAT, sent, messages(user('a'), calls('c'), said(text), user(''))];
  }),
  // github.com/dirge-code/dirge/issues/757; github.com/HKUDS/nanobot/issues/949
  ...[
    'messages: text content blocks must be non-empty',
    'messages.1: all messages must have non-empty content',
    'messages.0.content.0.text: text content blocks must contain non-whitespace text',
  ].map((says): Row => {
    const blank = { type: 'text', text: ' ' };
    return [
      says,
      says,
      MESSAGES,
      messages(user('a'), said(), said(blank), said(blank, text), user('b')),
      messages(user('a'), said(text), user('b')),
    ];
  }),
  ...[
    'System message must be at the beginning.',
    { object: 'error', message: "Unexpected role 'system' after role 'assistant'" },
    ROLES,
    // github.com/ogx-ai/ogx/issues/5982; github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1399
    pydantic("Input should be 'user' or 'assistant'", ['messages', 1, 'role']),
    "request.messages.1.role: Invalid discriminator value. Expected 'user' | 'assistant'",
    // platform.claude.com/docs/en/api/errors: models before those that take notes.
    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter.',
  ].flatMap((says): Row[] => [
    [
      JSON.stringify(says),
      says,
      CHAT,
      messages(note('a'), user('a'), note('b')),
      messages(note('a'), user('a'), user('b')),
    ],
    [
      `${JSON.stringify(says)} beside a system field`,
      says,
      MESSAGES,
      { system: 'a', ...messages(note('b')) },
      { system: 'a', ...messages(user('b')) },
    ],
    [
      `${JSON.stringify(says)} behind a thought`,
      says,
      RESPONSES,
      input({ type: 'reasoning' }, developer('a')),
      input({ type: 'reasoning' }, user('a')),
    ],
  ]),
  // github.com/badlogic/pi-mono/issues/1048
  ...[
    'messages[0]: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`',
    "Invalid value: 'developer'. Supported values are: 'system', 'assistant', 'user', and 'tool'.",
    "'developer' is not one of ['system', 'assistant', 'user', 'tool'] - 'messages.0.role'",
  ].map((says): Row => [
    says,
    says,
    CHAT,
    messages(developer('a'), user('b'), developer('c')),
    messages(note('a'), user('b'), user('c')),
  ]),
];

/** About one conversation, so they are not remembered. */
const THOUGHTS: readonly Row[] = [
  ...[
    withParam(
      'messages[0].content[0].type',
      "Invalid value: 'thinking'. Supported values are: 'text' and 'refusal'.",
      'invalid_value',
    ),
    'unsupported content[].type',
    'messages[0]: unknown variant `thinking`, expected `text`',
  ].map((says): Row => [
    JSON.stringify(says),
    says,
    CHAT,
    messages(said(thinking, text), { ...calls('c'), content: [thinking] }, said(thinking)),
    messages(said(text), calls('c')),
  ]),
  // github.com/Wei-Shaw/sub2api/issues/996; github.com/anthropics/claude-code/issues/63418
  ...[
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.1.content.0.thinking: each thinking block must contain thinking',
    'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
  ].map((says): Row => [
    says,
    says,
    MESSAGES,
    {
      thinking: ENABLED,
      ...messages(said(thinking, text), said({ type: 'redacted_thinking' }), user('a')),
    },
    { thinking: ENABLED, ...messages(said(text), user('a')) },
  ]),
  [
    'Anthropic wants a thought at the start of a tool loop',
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
    MESSAGES,
    { thinking: ENABLED, ...messages(said(thinking, text), use('c'), useResult('c')) },
    { thinking: { type: 'disabled' }, ...messages(said(text), use('c'), useResult('c')) },
  ],
  ...[
    withParam(
      '',
      'The encrypted content gAAA... could not be verified.',
      'invalid_encrypted_content',
    ),
    'Encrypted content is not supported.',
    "item['content'] is not an array",
    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
    "Invalid 'input[1].id': 'x'. Expected an ID that begins with 'msg'.",
    "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
  ].map((says): Row => [
    JSON.stringify(says),
    says,
    RESPONSES,
    input(thought('rs_1'), { id: 'msg_1', ...item }, { type: 'item_reference', id: 'x' }),
    input(item, { type: 'item_reference', id: 'x' }),
  ]),
];

const LIMITS: readonly Row[] = (
  [
    // github.com/farion1231/cc-switch/issues/1022
    [
      'max_tokens',
      15_309,
      "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 17459 input tokens (32000 > 32768 - 17459).",
    ],
    // github.com/musistudio/claude-code-router/issues/895
    [
      'max_tokens',
      8072,
      "This model's maximum context length is 131072 tokens. However, you requested 155000 tokens (123000 in the messages, 32000 in the completion).",
    ],
    // github.com/mnfst/llm-gateway/issues/1177
    ['max_tokens', 8192, 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'],
    [
      'max_completion_tokens',
      16_384,
      'max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.',
    ],
    [
      'max_tokens',
      8192,
      'max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens',
    ],
    [
      'max_tokens',
      11_760,
      'input length and `max_tokens` exceed context limit: 188240 + 32000 > 200000',
    ],
    // github.com/farion1231/cc-switch/issues/7103
    [
      'max_output_tokens',
      40_000,
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 40000, but got 32000 instead.",
    ],
  ] as const
).map(([field, limit, says]) => [
  `${limit} tokens are right`,
  says,
  CHAT,
  { [field]: 32_000 },
  { [field]: limit },
]);

const UNCHANGED: readonly Row[] = [
  ['max_tokens is too large: 100000. This model supports at most 4096.', { max_tokens: 5 }],
  [
    "This model's maximum context length is 32768 tokens and your request has 32000 input tokens",
    { max_tokens: 5 },
  ],
  [withParam('stream', "Unsupported parameter: 'stream'"), {}],
  [
    withParam(
      'temperature',
      "Invalid 'temperature': decimal above maximum value. Expected a value <= 2.",
      'decimal_above_max_value',
    ),
    { temperature: 3 },
  ],
  ['temperature: Input should be less than or equal to 1', { temperature: 3 }],
  [
    'Invalid stop: at most 4 sequences are supported, unknown stop',
    { stop: ['a', 'b', 'c', 'd', 'e'] },
  ],
  ["Unsupported parameter: 'tools' is not supported with this model.", tools(tool(EMPTY))],
  ["'response_format' is not supported", { response_format: { type: 'json_object' } }],
  [
    'messages[0].content[0].image_url is not supported',
    messages({ role: 'user', content: [{ type: 'image_url', image_url: {} }] }),
  ],
  [
    'messages[0].content[0].video: unknown field',
    messages({ role: 'user', content: [{ type: 'video', video: 'x' }] }),
  ],
  [forbidden(['messages', 0, 'role'], ['messages', 0, 'tool_call_id']), messages(result('c'))],
].map(([says, sent]): Row => [
  JSON.stringify(says),
  says as Json,
  CHAT,
  sent as Json,
  sent as Json,
]);

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));

/** The changes that a refusal asks for, what is sent then, and what it asks for if it comes again. */
function answerTo(
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

const ALL = [
  ...HOST_BY_FIELD,
  ...INSIDE,
  ...VALUES,
  ...REWRITTEN,
  ...TURNS,
  ...THOUGHTS,
  ...LIMITS,
];

test.each([...ALL, ...UNCHANGED])(
  'a request is sent as it is taken, and once more: %s',
  (_who, says, path, sent, taken) => {
    const answer = answerTo(path, says, sent);
    expect([answer.taken, answer.again]).toEqual([taken, []]);
  },
);

test('a host that refuses a stream is asked for a whole answer only if one will do', () => {
  const says = 'Your organization must be verified to stream this model.';
  expect(answerTo(CHAT, says, { stream: true }, { mayBeWhole: false }).made).toEqual([]);
});

test('a field of embeddings or pictures is never left out: it says what they are to be', () => {
  const says = "Unknown parameter: 'dimensions'.";
  expect(answerTo('/embeddings', says, { dimensions: 256 }).made).toEqual([]);
});

test('an engine that blames itself is believed about turns and thoughts, and not about fields', () => {
  const made = (says: string, sent: Json) => answerTo(CHAT, says, sent, { status: 500 }).made;
  expect(made('System message must be at the beginning.', messages(user('a'), note('b')))).toEqual([
    'strict_turns',
  ]);
  expect(made("Unknown parameter: 'store'.", { store: true })).toEqual([]);
});

// github.com/anthropics/claude-code/issues/82549, #49370; github.com/QuantumNous/new-api/issues/3041
test.each([
  [
    'Vertex names the betas',
    'Unexpected value(s) `context-1m`, `effort` for the `anthropic-beta` header.',
    ['anthropic-beta', 'claude-code'],
  ],
  ['Bedrock does not', 'invalid beta flag', []],
])('betas that a host does not know are left out: %s', (_who, says, left) => {
  const headers = ['anthropic-beta', 'claude-code,context-1m, effort', 'accept', '*/*'];
  const { made } = answerTo(MESSAGES, says, {}, { headers });
  expect(adjustedHeaders(headers, new Set(made))).toEqual([...left, 'accept', '*/*']);
});

const learnt = (...made: Adjustment[]) => {
  const clock = createManualClock();
  const known = createMemory(clock).of('hosted_a');
  learnRefusals(known, 'o3', { made: new Set(made), hadUsage: false });
  return { clock, known, at: (model: string) => [...knownRefusals(known, model)] };
};

test('what an upstream took is remembered for its model for an hour, but for what one conversation needed', () => {
  const kept: Adjustment[] = ['without max_tokens', 'without reasoning_effort="none"'];
  const { clock, at } = learnt(...kept, 'without_thoughts', 'at_most_9');
  expect([at('o3'), at('o3-mini')]).toEqual([kept, []]);
  clock.advance(3_600_000);
  expect(at('o3')).toEqual([]);
});

test('a value that was refused keeps no other value out', () => {
  const made: Adjustment = 'without reasoning_effort="none"';
  const sent = (value: string) =>
    adjustedBody(bytesOf({ reasoning_effort: value }), new Set([made]));
  expect([sent('none').toString(), sent('low').toString()]).toEqual([
    '{}',
    '{"reasoning_effort":"low"}',
  ]);
});

test('an upstream that never reported usage is not asked for it for ten minutes after a failure without a reason', () => {
  const { clock, known, at } = learnt();
  suspectUsage(known, 'm');
  expect(at('m')).toEqual(['without stream_options']);
  clock.advance(600_000);
  expect(at('m')).toEqual([]);
  learnRefusals(known, 'm', { made: new Set(), hadUsage: true });
  suspectUsage(known, 'm');
  expect(at('m')).toEqual([]);
});
