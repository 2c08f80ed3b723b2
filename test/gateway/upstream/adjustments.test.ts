import { expect, test } from 'vitest';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import {
  adjustedHeaders,
  type Adjustment,
  knownRefusals,
  learnRefusals,
  suspectUsage,
} from '../../../main/gateway/upstream/adjustments.ts';
import { createManualClock } from '../../support/clock.ts';
import {
  CHAT,
  MESSAGES,
  RESPONSES,
  type Row,
  user,
  note,
  developer,
  text,
  calls,
  result,
  use,
  useResult,
  messages,
  input,
  tool,
  tools,
  EMPTY,
  pydantic,
  withParam,
  thinking,
  ENABLED,
  said,
  thought,
  item,
  LONG,
  ROLES,
  answerTo,
} from '../../support/refused.ts';

const REWRITTEN: readonly Row[] = [
  [
    'OpenAI’s later models have another name for the limit',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    CHAT,
    { max_tokens: 9 },
    { max_completion_tokens: 9 },
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
  // github.com/earendil-works/pi/issues/1048
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

test.each([...REWRITTEN, ...TURNS, ...THOUGHTS, ...LIMITS])(
  'a request is written anew as it is taken, and once more: %s',
  (_who, says, path, sent, taken) => {
    const answer = answerTo(path, says, sent);
    expect([answer.taken, answer.again]).toEqual([taken, []]);
  },
);

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
