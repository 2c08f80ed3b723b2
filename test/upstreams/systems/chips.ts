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
      // github.com/groq/groq-typescript/issues/28; github.com/tensorzero/tensorzero/issues/1893
      refused('unsupported_feature', 400, {
        error: {
          message: 'Failed to call a function. Please adjust your prompt.',
          type: 'invalid_request_error',
          code: 'tool_use_failed',
          failed_generation: '<function=x>',
        },
      }),
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
      // github.com/fork-dev/TrackerWin/issues/2595
      refused(
        'request_too_large',
        413,
        openAi(
          'Request too large for model `m` on tokens per minute (TPM): Limit 12000, Requested 52000',
          'rate_limit_exceeded',
          'tokens',
        ),
      ),
      refused(
        'context_length',
        400,
        openAi(
          'Please reduce the length of the messages or completion.',
          'context_length_exceeded',
        ),
      ),
      refused(
        'model_not_found',
        400,
        openAi(
          'The model `m` has been decommissioned and is no longer supported.',
          'model_decommissioned',
        ),
      ),
      // console.groq.com/docs/errors
      refused(
        'model_not_found',
        400,
        openAi('The model `m` requires terms acceptance.', 'model_terms_required'),
      ),
      refused('rate_limited', 498, openAi('Flex tier capacity exceeded.', 'capacity_exceeded')),
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
      refused('http_400', 400, ''),
      refused('context_length', 400, {
        message:
          'Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      }),
      refused('model_not_found', 404, {
        message: 'Model m does not exist or you do not have access to it.',
        type: 'not_found_error',
        param: 'model',
        code: 'model_not_found',
      }),
      refused('rate_limited', 429, {
        message: "We're experiencing high traffic right now! Please try again soon.",
        type: 'too_many_requests_error',
        param: 'queue',
        code: 'queue_exceeded',
      }),
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
      // github.com/can1357/oh-my-pi/issues/2299
      refused('model_not_found', 410, {
        type: 'about:blank',
        title: 'Gone',
        status: 410,
        detail: "The model 'm' has reached its end of life.",
      }),
      // github.com/BerriAI/litellm/issues/4558: no stream, whatever it begins with.
      refused(
        'unsupported_feature',
        500,
        'data: {"type":"about:blank","status":500,"title":"Internal Server Error","detail":"System role not supported"}',
      ),
      // github.com/hidenobunagai/nvidia-nim-provider/issues/2
      refused('unsupported_feature', 400, {
        object: 'error',
        message:
          '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        code: 400,
      }),
      // github.com/Gitlawb/openclaude/issues/1950
      refused('http_400', 400, { detail: 'Unsupported parameter(s): `foo`' }),
      refused('model_not_found', 404, {
        status: 404,
        title: 'Not Found',
        detail: "Function 'x': Not found for account 'y' model m",
      }),
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
