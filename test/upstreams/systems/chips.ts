import { openAi, refused, TOOL_LOOP } from '../refused.ts';
import type { System } from '../system.ts';

/** Hosts by makers of chips. */
export const CHIPS: readonly System[] = [
  {
    name: 'Groq',
    place: 'hosted_a',
    manner: {
      around: { x_groq: { id: 'req_1' }, service_tier: 'on_demand' },
      reasoning: 'reasoning',
      calls: { arguments: 'whole' },
    },
    refusals: [
      refused(
        'rate_limited',
        429,
        openAi(
          'Rate limit reached for model `m`. Please try again in 2m59.56s.',
          'rate_limit_exceeded',
          'tokens',
        ),
        {
          headers: { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '2m59.56s' },
          waitMs: 179_560,
        },
      ),
      refused(
        'context_length',
        400,
        openAi(
          'Please reduce the length of the messages or completion.',
          'context_length_exceeded',
        ),
      ),
    ],
    failures: [
      {
        event: openAi('Failed to call a function.', 'tool_use_failed'),
        means: 'unsupported_feature',
      },
    ],
    fields: [
      {
        // github.com/janhq/jan/issues/8136
        about: 'an earlier thought',
        request: { messages: TOOL_LOOP },
        status: 400,
        body: openAi(
          "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
          null,
        ),
        minds: (body) => JSON.stringify(body).includes('reasoning_content'),
        sent: {},
      },
      {
        // github.com/diegosouzapw/OmniRoute/issues/3258: Claude Code, and a model that does not think.
        about: 'an effort',
        from: 'messages',
        request: { output_config: { effort: 'high' } },
        status: 400,
        body: openAi('`reasoning_effort` is not supported with this model', null),
        minds: (body) => 'reasoning_effort' in body,
        sent: {},
      },
      {
        // github.com/earendil-works/pi/issues/1745
        about: 'the words of others for an effort',
        from: 'responses',
        request: { reasoning: { effort: 'medium' } },
        status: 400,
        body: openAi('`reasoning_effort` must be one of `none` or `default`', null),
        minds: (body) => 'reasoning_effort' in body,
        sent: {},
        isSentAgain: true,
      },
    ],
    lists: {
      body: {
        object: 'list',
        data: [{ id: 'm', owned_by: 'Meta', active: true, context_window: 4096 }],
      },
      model: { id: 'm', owner: 'Meta', context_length: 4096 },
    },
  },
  {
    name: 'Cerebras',
    place: 'hosted_a',
    manner: { reasoning: 'reasoning', unfinished: 'absent', usage: 'with the end' },
    refusals: [
      // github.com/badlogic/pi-mono, packages/ai, overflow.ts: no body at all.
      refused('request_too_large', 413, ''),
    ],
    fields: [
      {
        // github.com/agno-agi/agno/issues/4508: gpt-oss; Codex sends it with each request.
        about: 'one call at a time',
        from: 'responses',
        request: { tools: [{ type: 'function', name: 'a' }], parallel_tool_calls: false },
        status: 400,
        body: {
          message: 'parallel_tool_calls=False is not supported by this model.',
          type: 'invalid_request_error',
          param: 'parallel_tool_calls',
          code: 'wrong_api_format',
        },
        minds: (body) => 'parallel_tool_calls' in body,
        sent: {},
      },
    ],
  },
  {
    // github.com/farion1231/cc-switch/issues/1787.
    name: 'SambaNova',
    place: 'hosted_a',
    manner: { lineEnd: '\r' },
  },
  {
    name: 'NVIDIA NIM',
    place: 'hosted_a',
    manner: { role: 'each', beside: { reasoning_content: null } },
    refusals: [
      // github.com/BerriAI/litellm/issues/4558: no stream, whatever it begins with.
      refused(
        'unsupported_feature',
        500,
        'data: {"type":"about:blank","status":500,"title":"Internal Server Error","detail":"System role not supported"}',
      ),
    ],
    fields: [
      {
        // github.com/earendil-works/pi/issues/1528
        about: 'text as a list of parts',
        from: 'messages',
        request: { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
        status: 400,
        body: { detail: 'Input should be a valid string' },
        minds: ({ messages }) => JSON.stringify(messages).includes('['.concat('{"type"')),
        sent: { messages: [{ content: 'hi' }] },
        isNeverSent: true,
      },
    ],
  },
];
