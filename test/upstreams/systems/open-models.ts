import { openAi, refused } from '../refused.ts';
import { answer, DONE, part, usage, usagePart } from '../speech.ts';
import type { System } from '../system.ts';

/** Hosts by makers of open models. */
export const OPEN_MODELS: readonly System[] = [
  {
    // github.com/symfony/ai/issues/2424; github.com/vercel/ai/issues/19181; Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Mistral',
    place: 'hosted_a',
    manner: {
      reasoning: 'parts',
      calls: { arguments: 'whole' },
      finish: { length: 'model_length' },
      usage: 'with the end',
    },
    refusals: [
      // docs.mistral.ai, API
      refused('model_not_found', 400, {
        object: 'error',
        message: 'Invalid model: m',
        type: 'invalid_model',
        param: null,
        code: '1500',
      }),
      // github.com/BerriAI/litellm, exception_mapping_utils.py
      refused('rate_limited', 429, {
        object: 'error',
        message: 'Service tier capacity exceeded for this model.',
        type: 'service_tier_capacity_exceeded',
        code: '3505',
      }),
      // github.com/mistralai/platform-docs-public/issues/7: the message is an object.
      refused('http_422', 422, {
        object: 'error',
        message: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'foo'],
              msg: 'Extra inputs are not permitted',
            },
          ],
        },
        type: 'invalid_request_error',
      }),
      // github.com/datapizza-labs/datapizza-ai/issues/98
      refused('unsupported_feature', 400, {
        object: 'error',
        message: "Unexpected role 'user' after role 'tool'",
        type: 'invalid_request_message_order',
      }),
    ],
    gaveUp: ['error'],
    oddities: [
      {
        says: 'a citation between two texts',
        stream: [
          part({ role: 'assistant', content: 'Do not press it [' }),
          part({ content: [{ type: 'reference', reference_ids: [1] }] }),
          part({ content: '] says the manual.' }),
          part({}, 'stop'),
          DONE,
        ],
        fate: { text: 'Do not press it [] says the manual.' },
      },
      {
        says: 'its first words as a part, and the others as text',
        stream: [
          part({ content: [{ type: 'text', text: 'Do not ' }] }),
          part({ content: 'press it.' }, 'stop'),
          DONE,
        ],
        fate: { text: 'Do not press it.' },
      },
    ],
  },
  {
    // Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Cohere',
    place: 'hosted_a',
    manner: {
      finish: {
        stop: 'COMPLETE',
        length: 'MAX_TOKENS',
        tool_calls: 'TOOL_CALL',
        content_filter: 'ERROR_TOXIC',
      },
      end: 'none',
    },
    refusals: [
      refused('context_length', 400, {
        message: 'too many tokens: total number of tokens in the prompt cannot exceed 128000',
      }),
      // docs.cohere.com/docs/rate-limits
      refused('quota', 429, {
        message: 'You are using a Trial key, which is limited to 1000 API calls / month.',
      }),
    ],
    gaveUp: ['TIMEOUT', 'ERROR'],
  },
  {
    // api-docs.deepseek.com, Rate Limit: comments while it is held.
    name: 'DeepSeek',
    place: 'hosted_a',
    manner: { life: ': keep-alive\n\n', opening: { content: null, reasoning_content: '' } },
    refusals: [
      refused(
        'unsupported_input',
        400,
        openAi(
          'Failed to deserialize the JSON body: unknown variant `image_url`, expected `text`',
          'invalid_request_error',
        ),
      ),
      refused('moderation', 400, openAi('Content Exists Risk', 'invalid_request_error')),
      refused('http_503', 503, openAi('Service is too busy.', 'service_unavailable')),
    ],
    gaveUp: ['insufficient_system_resource'],
    oddities: [
      {
        says: 'blank lines before its answer',
        whole: `\n\n\n${JSON.stringify(answer({ content: 'Yes' }))}`,
        fate: { text: 'Yes' },
      },
    ],
  },
  {
    // github.com/earendil-works/pi/issues/2017.
    name: 'Moonshot',
    place: 'hosted_a',
    manner: { usage: 'in the choice' },
    oddities: [
      {
        // platform.moonshot.ai/docs/api/chat
        says: 'what it had in its cache beside the other counts',
        stream: [
          part({ content: 'Yes' }),
          part({}, 'stop'),
          usagePart(10, 5, { cached_tokens: 4 }),
          DONE,
        ],
        whole: answer({ content: 'Yes' }, 'stop', usage(10, 5, { cached_tokens: 4 })),
        fate: { text: 'Yes' },
        tokens: { input: 10, output: 5, cached: 4, estimated: false },
      },
    ],
    refusals: [
      refused(
        'rate_limited',
        429,
        openAi(
          'Your account reached max request concurrency: 1, please try again after 41 seconds',
          null,
          'rate_limit_reached_error',
        ),
        { waitMs: 41_000 },
      ),
      // Of a plan: its words are Kimi's own, its type the one of an account that is closed.
      refused(
        'quota',
        403,
        openAi(
          "You've reached your usage limit for this billing cycle. Your quota will be refreshed in the next cycle.",
          null,
          'access_terminated_error',
        ),
      ),
      // github.com/simstudioai/sim/issues/5716
      refused(
        'http_400',
        400,
        openAi(
          "tool_choice 'specified' is incompatible with thinking enabled",
          null,
          'invalid_request_error',
        ),
      ),
    ],
  },
  {
    // github.com/lobehub/lobehub/issues/11219; github.com/vercel/ai/issues/19091.
    name: 'Qwen at DashScope',
    place: 'hosted_a',
    manner: { calls: { id: 'empty later', name: 'each' }, beside: { content: null } },
    refusals: [
      refused(
        'quota',
        400,
        openAi(
          'Access denied, please make sure your account is in good standing.',
          'Arrearage',
          'Arrearage',
        ),
      ),
      refused(
        'context_length',
        400,
        openAi(
          '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]',
          'invalid_parameter_error',
        ),
      ),
    ],
  },
  {
    // github.com/vercel/ai/issues/15464; Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Z.ai',
    place: 'hosted_a',
    manner: {
      role: 'empty in each',
      finish: { length: 'model_context_window_exceeded', content_filter: 'sensitive' },
      usage: 'with the end',
    },
    refusals: [
      // github.com/lidge-jun/opencodex/issues/41; docs.z.ai, Errors
      refused('quota', 429, {
        error: { code: '1113', message: '余额不足或无可用资源包,请充值。' },
      }),
      refused('model_not_found', 400, {
        error: { code: '1211', message: '模型不存在，请检查模型代码。' },
      }),
      refused('context_length', 400, {
        error: { code: '1261', message: 'Prompt exceeds max length' },
      }),
      // docs.z.ai/api-reference/api-code; github.com/NousResearch/hermes-agent/pull/103038: what a plan has for some hours.
      refused('quota', 429, {
        error: {
          code: '1308',
          message: 'Usage limit reached for 5 hour. Your limit will reset at 2026-09-04 19:01:25',
        },
      }),
      // docs.z.ai/api-reference/api-code
      refused('credentials', 429, {
        error: { code: '1112', message: 'Your account has been locked, please contact us.' },
      }),
      refused('moderation', 400, {
        error: { code: '1301', message: 'System detected potentially unsafe content.' },
        contentFilter: [{ role: 'user', level: 1 }],
      }),
    ],
    gaveUp: ['network_error'],
    oddities: [
      {
        // github.com/BerriAI/litellm/issues/38199: a failure dressed as an answer.
        says: 'nothing, for no tokens',
        stream: [
          part({ role: 'assistant', content: '' }),
          part({}, 'stop'),
          usagePart(10, 0),
          DONE,
        ],
        whole: answer({ content: '' }, 'stop', usage(10, 0)),
        fate: { next: 'bad_response' },
      },
    ],
  },
  {
    // volcengine.com/docs/82379/1299023
    name: 'Volcengine',
    place: 'hosted_a',
    manner: {},
    refusals: [
      refused('quota', 403, openAi('Your account has an overdue balance.', 'AccountOverdueError')),
    ],
  },
  {
    // cloud.baidu.com/doc/qianfan-api/s/rmwbl43x7
    name: 'Baidu',
    place: 'hosted_a',
    manner: {},
    refusals: [refused('context_length', 400, openAi('Prompt tokens too long', 'tokens_too_long'))],
  },
  {
    name: 'MiniMax',
    place: 'hosted_a',
    manner: {
      around: { base_resp: { status_code: 0, status_msg: '' }, input_sensitive: false },
      role: 'each',
      unfinished: 'absent',
      usage: 'with the end',
    },
    refusals: [
      refused('rate_limited', 200, { base_resp: { status_code: 1002, status_msg: 'rate limit' } }),
      refused('moderation', 200, {
        base_resp: { status_code: 1026, status_msg: 'input new_sensitive' },
      }),
    ],
  },
];
