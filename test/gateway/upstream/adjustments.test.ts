import { expect, test } from 'vitest';
import { type Adjustment, createAdjustments } from '../../../main/gateway/upstream/adjustments.ts';
import { createManualClock } from '../../support/clock.ts';
import { adjusted, after, call, error, LOOP, NONE } from '../../support/refused.ts';

const CHAT = '/chat/completions';

test.each([
  {
    who: 'vLLM has prompt_logprobs without a stream only',
    path: CHAT,
    body: { messages: [], stream: true, prompt_logprobs: 1 },
    refusal: {
      object: 'error',
      message: '`prompt_logprobs` are not available when `stream=True`.',
    },
    adjustment: 'without_stream' as const,
    sent: { messages: [], stream: false, prompt_logprobs: 1 },
  },
  ...[
    ['Groq', "property 'prompt_cache_key' is unsupported"],
    ['NVIDIA NIM', 'Validation: Unsupported parameter(s): `prompt_cache_key`'],
    ['Azure with models of others', 'Unrecognized request argument supplied: prompt_cache_key'],
  ].map(([host, words = '']) => ({
    who: `${host} takes no key of a cache`,
    path: CHAT,
    body: { messages: [], prompt_cache_key: 'k' },
    refusal: error(words),
    adjustment: 'without_cache_key' as const,
    sent: { messages: [] },
  })),
  {
    who: 'DeepSeek wants its own name for reasoning',
    path: CHAT,
    body: { messages: [{ role: 'assistant', content: 'x', reasoning: 'hm' }] },
    refusal: error('The `reasoning_content` in the thinking mode must be passed back to the API.'),
    adjustment: 'filled_reasoning' as const,
    sent: {
      messages: [{ role: 'assistant', content: 'x', reasoning: 'hm', reasoning_content: 'hm' }],
    },
  },
  {
    who: 'OpenAI takes ids of forty characters',
    path: CHAT,
    body: { messages: [{ role: 'tool', tool_call_id: 'abcdefgh9', content: '' }, ...LOOP] },
    refusal: error(
      "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 43 instead.",
      { param: 'messages[2].tool_calls[0].id', code: 'string_above_max_length' },
    ),
    adjustment: 'short_call_ids' as const,
    sent: {
      messages: [
        { role: 'tool', tool_call_id: 'abcdefgh9', content: '' },
        LOOP[0],
        { ...LOOP[1], tool_calls: [call('74196fe72')] },
        { ...LOOP[2], tool_call_id: '74196fe72' },
      ],
    },
  },
  {
    who: 'Anthropic wants reasoning at the start of a tool loop',
    path: '/messages',
    body: {
      thinking: { type: 'enabled', budget_tokens: 1024 },
      context_management: { edits: [{ type: 'clear_thinking_20251015' }, { type: 'other' }] },
      messages: [],
    },
    refusal: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.',
      },
    },
    adjustment: 'thinking_off' as const,
    sent: {
      thinking: { type: 'disabled' },
      context_management: { edits: [{ type: 'other' }] },
      messages: [],
    },
  },
  ...(
    [
      [
        'temperature',
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
      ],
      ['temperature', 'invalid temperature: only 1 is allowed for this model'],
      ['temperature', '`temperature` is deprecated for this model.'],
      ['top_p', "Unsupported parameter: 'top_p' is not supported with this model."],
      ['top_k', 'Unrecognized request argument supplied: top_k'],
    ] as const
  ).map(([field, words]) => ({
    who: `a model that thinks is sampled in its own way, as ${words}`,
    path: CHAT,
    body: { messages: [], [field]: 0 },
    refusal: error(words),
    adjustment: `without_${field}` as const,
    sent: { messages: [] },
  })),
  {
    // github.com/anomalyco/opencode/issues/28930
    who: 'Claude takes a temperature or a top_p',
    path: '/messages',
    body: { messages: [], temperature: 0.2, top_p: 0.4 },
    refusal: error(
      '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    ),
    adjustment: 'one_of_both' as const,
    sent: { messages: [], temperature: 0.2 },
  },
  {
    // github.com/openai/codex/issues/36735: Codex sends it to any model.
    who: 'gpt-4o takes no effort',
    path: '/responses',
    body: { input: 'a', reasoning: { effort: 'none', summary: 'auto' } },
    refusal: error("Unsupported parameter: 'reasoning.effort' is not supported with this model.", {
      param: 'reasoning.effort',
      code: 'unsupported_parameter',
    }),
    adjustment: 'without_any_effort' as const,
    sent: { input: 'a' },
  },
  {
    // github.com/openai/codex/issues/6647
    who: 'gpt-5.1-codex thinks in any case',
    path: '/responses',
    body: { input: 'a', reasoning: { effort: 'none', summary: 'auto' } },
    refusal: error(
      "Unsupported value: 'none' is not supported with the 'gpt-5.1-codex' model. Supported values are: 'low', 'medium', and 'high'.",
      { param: 'reasoning.effort', code: 'unsupported_value' },
    ),
    adjustment: 'without_this_effort' as const,
    sent: { input: 'a', reasoning: { summary: 'auto' } },
  },
  ...(
    [
      // github.com/anthropics/claude-code/issues/2245
      ["'claude-3-5-sonnet-20241022' does not support thinking.", 'without_thought'],
      // github.com/ollama/ollama, server/routes.go
      ['"llama3.1:8b" does not support thinking', 'without_thought'],
      // github.com/anthropics/claude-code/issues/89633
      ['adaptive thinking is not supported on this model', 'without_adaptive'],
      // github.com/anthropics/claude-code/issues/29531
      [
        "Only 'enabled' and 'disabled' are supported for thinking; 'adaptive' is not supported.",
        'without_adaptive',
      ],
      // github.com/strands-agents/harness-sdk/issues/1856
      [
        "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
        'without_adaptive',
      ],
    ] as const
  ).map(([words, adjustment]) => ({
    who: `no thought, as ${words}`,
    path: '/messages',
    body: { thinking: { type: 'adaptive' }, messages: [] },
    refusal: { type: 'error', error: { type: 'invalid_request_error', message: words } },
    adjustment,
    sent: { thinking: { type: 'disabled' }, messages: [] },
  })),
  {
    // github.com/zhukunpenglinyutong/jetbrains-cc-gui/issues/1003
    who: 'Opus 4.8 thinks as long as it likes',
    path: '/messages',
    body: { thinking: { type: 'enabled', budget_tokens: 1024 }, messages: [] },
    refusal: error(
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    ),
    adjustment: 'adaptive' as const,
    sent: { thinking: { type: 'adaptive' }, messages: [] },
  },
  {
    // github.com/anthropics/claude-code/issues/30795
    who: 'Haiku 4.5 takes no effort',
    path: '/messages',
    body: { output_config: { effort: 'high' }, messages: [] },
    refusal: error('This model does not support the effort parameter.'),
    adjustment: 'without_any_effort' as const,
    sent: { messages: [] },
  },
  {
    who: 'Opus 4.5 knows three words for an effort, and the format stays',
    path: '/messages',
    body: { output_config: { effort: 'max', format: { type: 'json_schema' } }, messages: [] },
    refusal: error("output_config.effort: Input should be 'low', 'medium' or 'high'"),
    adjustment: 'without_this_effort' as const,
    sent: { output_config: { format: { type: 'json_schema' } }, messages: [] },
  },
  {
    who: 'Anthropic checks signatures',
    path: '/messages',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'of-another' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'x' }] },
      ],
    },
    refusal: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
      },
    },
    adjustment: 'without_thinking' as const,
    sent: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
      ],
    },
  },
  {
    who: 'Anthropic takes plain ids',
    path: '/messages',
    body: {
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'functions.read:0', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'functions.read:0' }] },
      ],
    },
    refusal: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: "messages.0.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
      },
    },
    adjustment: 'plain_call_ids' as const,
    sent: {
      messages: [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'call_c216cab2de2e56d547b4e634', input: {} }],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'call_c216cab2de2e56d547b4e634' }],
        },
      ],
    },
  },
  {
    who: 'OpenAI cannot read what another organisation encrypted',
    path: '/responses',
    body: {
      input: [
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
        { type: 'message', id: 'msg_1', role: 'assistant', content: [] },
        { type: 'item_reference', id: 'x' },
      ],
    },
    refusal: error('The encrypted content gAAA... could not be verified.', {
      code: 'invalid_encrypted_content',
    }),
    adjustment: 'without_foreign_items' as const,
    sent: {
      input: [
        { type: 'message', role: 'assistant', content: [] },
        { type: 'item_reference', id: 'x' },
      ],
    },
  },
  {
    // github.com/anthropics/claude-code/issues/21612
    who: 'Vertex edits no context',
    path: '/messages',
    body: { messages: [], context_management: { edits: [] } },
    refusal: error('context_management: Extra inputs are not permitted'),
    adjustment: 'without_edits' as const,
    sent: { messages: [] },
  },
  ...[
    // github.com/Wei-Shaw/sub2api/issues/996
    'messages.1.content.0.thinking: each thinking block must contain thinking',
    // github.com/anthropics/claude-code/issues/63418
    'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
  ].map((words) => ({
    who: 'Anthropic wants its own thoughts',
    path: '/messages',
    body: { messages: [{ role: 'assistant', content: [{ type: 'thinking' }, { type: 'text' }] }] },
    refusal: error(words),
    adjustment: 'without_thinking' as const,
    sent: { messages: [{ role: 'assistant', content: [{ type: 'text' }] }] },
  })),
  ...(
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
    ] as const
  ).map(([field, most, words]) => ({
    who: `there is room for ${most} tokens`,
    path: CHAT,
    body: { messages: [], [field]: 32_000 },
    refusal: error(words),
    adjustment: `at_most_${most}` as const,
    sent: { messages: [], [field]: most },
  })),
])('a request is adjusted to a refusal: $who', ({ path, body, refusal, adjustment, sent }) => {
  expect(after(path, body, refusal)).toBe(adjustment);
  expect(adjusted(body, adjustment)).toEqual(sent);
  expect(after(path, sent, refusal, { made: new Set([adjustment]) })).toBeNull();
});

test.each([
  [
    'a limit that is too large',
    error('max_tokens is too large: 100000. This model supports at most 4096.'),
  ],
  [
    'a window with hardly any room for an answer',
    error(
      "This model's maximum context length is 32768 tokens and your request has 32000 input tokens",
    ),
  ],
  [
    'a field that the request does not have',
    error("Unsupported parameter: 'stream'", { param: 'stream' }),
  ],
  [
    'a temperature out of its range',
    error("Invalid 'temperature': decimal above maximum value. Expected a value <= 2.", {
      param: 'temperature',
    }),
  ],
])('a request is not adjusted to %s', (_, refusal) => {
  const body = { messages: LOOP, max_tokens: 5, temperature: 3 };
  expect(after(CHAT, body, refusal)).toBeNull();
});

test('an adjustment that an upstream accepted is remembered for its model, for an hour', () => {
  const clock = createManualClock();
  const adjustments = createAdjustments(clock);
  const made: ReadonlySet<Adjustment> = new Set(['max_completion_tokens', 'thinking_off']);
  adjustments.accepted('hosted_a', 'o3', made, false);
  expect([...adjustments.at('hosted_a', 'o3')]).toEqual(['max_completion_tokens']);
  expect([...adjustments.at('hosted_a', 'gpt-4o')]).toEqual([]);
  expect([...adjustments.at('hosted_b', 'o3')]).toEqual([]);
  clock.advance(3_600_000);
  expect([...adjustments.at('hosted_a', 'o3')]).toEqual([]);
});

test('an upstream that never reported usage is not asked for it for ten minutes after a failure without a reason', () => {
  const clock = createManualClock();
  const adjustments = createAdjustments(clock);
  adjustments.suspectUsage('hosted_a', 'm');
  expect([...adjustments.at('hosted_a', 'm')]).toEqual(['without_usage']);
  clock.advance(600_000);
  expect([...adjustments.at('hosted_a', 'm')]).toEqual([]);
  adjustments.accepted('hosted_a', 'm', NONE, true);
  adjustments.suspectUsage('hosted_a', 'm');
  expect([...adjustments.at('hosted_a', 'm')]).toEqual([]);
});

test('adjustments are forgotten with the address, and the oldest of a thousand first', () => {
  const adjustments = createAdjustments(createManualClock());
  const made: ReadonlySet<Adjustment> = new Set(['without_user']);
  for (let at = 0; at < 1000; at += 1) adjustments.accepted('a', `m${at}`, made, false);
  adjustments.accepted('b', 'm', made, false);
  expect(adjustments.at('a', 'm0').size).toBe(0);
  expect(adjustments.at('a', 'm1').size).toBe(1);
  adjustments.forget('a');
  expect(adjustments.at('a', 'm1').size).toBe(0);
  expect(adjustments.at('b', 'm').size).toBe(1);
});
