import { openAi, refused } from '../refused.ts';
import { answer, DONE, part, usage, usagePart } from '../speech.ts';
import type { System } from '../system.ts';

/** Hosts by makers of open models. */
export const OPEN_MODELS: readonly System[] = [
  {
    // api-docs.deepseek.com, Rate Limit: comments while it is held.
    name: 'DeepSeek',
    place: 'hosted_a',
    manner: { life: ': keep-alive\n\n', opening: { content: null, reasoning_content: '' } },
    refusals: [
      // api-docs.deepseek.com, Error Codes
      refused(
        'quota',
        402,
        openAi('Insufficient Balance', 'invalid_request_error', 'unknown_error'),
      ),
      // github.com/langbot-app/LangBot/issues/1643
      refused('model_not_found', 400, openAi('Model Not Exist', 'invalid_request_error')),
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
    refusals: [
      refused(
        'quota',
        429,
        openAi(
          'Your account is suspended due to insufficient balance.',
          null,
          'exceeded_current_quota_error',
        ),
      ),
      refused(
        'context_length',
        400,
        openAi(
          'Invalid request: Your request exceeded model token limit: 131072',
          null,
          'invalid_request_error',
        ),
      ),
      refused(
        'model_not_found',
        404,
        openAi('Not found the model m or Permission denied', null, 'resource_not_found_error'),
      ),
      refused(
        'rate_limited',
        429,
        openAi(
          'Your account reached max request concurrency: 1, please try again after 1 seconds',
          null,
          'rate_limit_reached_error',
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
        'moderation',
        400,
        openAi(
          'Input data may contain inappropriate content.',
          'data_inspection_failed',
          'data_inspection_failed',
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
      refused(
        'model_not_found',
        404,
        openAi('The model `m` does not exist or you do not have access to it.', 'model_not_found'),
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
      refused('rate_limited', 429, {
        error: { code: '1302', message: 'High concurrency usage of this API.' },
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
    name: 'MiniMax',
    place: 'hosted_a',
    manner: { role: 'each', unfinished: 'absent', usage: 'with the end' },
    refusals: [
      // github.com/lobehub/lobe-chat/issues/2087; platform.minimax.io, Error Codes
      refused('quota', 200, {
        base_resp: { status_code: 1008, status_msg: 'insufficient balance' },
      }),
      refused('credentials', 200, {
        choices: null,
        base_resp: { status_code: 2049, status_msg: 'invalid api key' },
      }),
      refused('rate_limited', 200, { base_resp: { status_code: 1002, status_msg: 'rate limit' } }),
      refused('moderation', 200, {
        base_resp: { status_code: 1026, status_msg: 'input new_sensitive' },
      }),
      refused(
        'context_length',
        400,
        openAi('invalid params, context window exceeds limit (2013)', null),
      ),
    ],
  },
];
