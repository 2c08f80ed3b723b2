import { expect, test } from 'vitest';
import { adjustedBody, type Adjustment } from '../../../main/gateway/upstream/adjustments.ts';
import {
  CHAT,
  MESSAGES,
  RESPONSES,
  type Json,
  type Row,
  user,
  note,
  calls,
  result,
  messages,
  input,
  tool,
  tools,
  EMPTY,
  forbidden,
  withParam,
  gemini,
  said,
  item,
  LONG,
  bytesOf,
  answerTo,
} from '../../support/refused.ts';

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

const INSIDE: readonly Row[] = [
  [
    'all that is named goes at once',
    forbidden(['store'], ['n', 'x'], ['seed']),
    CHAT,
    { store: true, seed: 1 },
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
    'OpenAI takes 64 characters of a user',
    withParam('user', "Invalid 'user': string too long.", 'string_above_max_length'),
    CHAT,
    { user: LONG },
    {},
  ],
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
    'vLLM knows three',
    "1 validation error: {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'none'}",
    CHAT,
    { reasoning_effort: 'none' },
    {},
  ],
];

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

test.each([...HOST_BY_FIELD, ...INSIDE, ...VALUES, ...UNCHANGED])(
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

test('a value that was refused keeps no other value out', () => {
  const made: Adjustment = 'without reasoning_effort="none"';
  const sent = (value: string) =>
    adjustedBody(bytesOf({ reasoning_effort: value }), new Set([made]));
  expect([sent('none').toString(), sent('low').toString()]).toEqual([
    '{}',
    '{"reasoning_effort":"low"}',
  ]);
});
