import { openAi, openRouter, refused } from '../refused.ts';
import { answer, DONE, part, usagePart } from '../speech.ts';
import type { System } from '../system.ts';

/** A chunk with a message beside its delta. */
const beside = (content: string, soFar: string) => ({
  ...part({}),
  choices: [{ index: 0, delta: { content }, message: { content: soFar }, finish_reason: null }],
});

/** Hosts of models by others. */
export const HOSTS: readonly System[] = [
  {
    // openrouter.ai/docs, Streaming.
    name: 'OpenRouter',
    place: 'hosted_a',
    manner: {
      around: { provider: 'Host', native_finish_reason: null },
      role: 'each',
      reasoning: 'reasoning',
      life: ': OPENROUTER PROCESSING\n\n',
      usage: 'end again',
    },
    refusals: [
      // openrouter.ai/docs, Errors; github.com/openclaw/openclaw/issues/99079
      refused('model_not_found', 404, openRouter(404, 'No endpoints found for m.')),
      // github.com/earendil-works/pi, packages/ai/src/utils/overflow.ts
      refused(
        'context_length',
        400,
        openRouter(
          400,
          'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.',
        ),
      ),
      refused(
        'unsupported_feature',
        404,
        openRouter(404, 'No endpoints found that support tool use.'),
      ),
      refused(
        'unsupported_input',
        404,
        openRouter(404, 'No endpoints found that support image input'),
      ),
      refused(
        'model_not_found',
        404,
        openRouter(404, 'No endpoints found matching your data policy.'),
      ),
      refused('model_not_found', 400, openRouter(400, 'm is not a valid model ID')),
      refused(
        'request_too_large',
        402,
        openRouter(
          402,
          'This request requires more credits, or fewer max_tokens. You requested up to 65535 tokens, but can only afford 31000.',
        ),
      ),
      refused(
        'quota',
        402,
        openRouter(
          402,
          'Insufficient credits. Add more using https://openrouter.ai/settings/credits',
        ),
      ),
      refused(
        'moderation',
        403,
        openRouter(403, 'Your chosen model requires moderation and your input was flagged', {
          reasons: ['violence'],
          flagged_input: 'hi',
        }),
      ),
      refused('credentials', 401, openRouter(401, 'User not found.')),
      refused(
        'rate_limited',
        429,
        openRouter(429, 'Provider returned error', {
          raw: '{"error":{"message":"slow down"}}',
          headers: { 'X-RateLimit-Reset': String(Date.UTC(2026, 0, 1, 0, 0, 42)) },
        }),
        { waitMs: 42_000 },
      ),
      refused(
        'model_not_found',
        503,
        openRouter(
          503,
          'There is no available model provider that meets your routing requirements',
        ),
      ),
      refused('quota', 200, {
        choices: [{ ...openRouter(402, 'Insufficient credits'), message: { content: '' } }],
      }),
      // github.com/BerriAI/litellm/issues/21755
      refused('rate_limited', 200, openRouter(429, 'Rate limit exceeded: free-models-per-min.')),
    ],
    gaveUp: ['error'],
    failures: [
      // github.com/diegosouzapw/OmniRoute/issues/8210; github.com/dcdpr/jp/issues/978
      {
        event: { ...part({}), choices: [], ...openRouter(502, 'Provider error') },
        means: 'bad_response',
      },
      {
        event: { ...part({ content: '' }, 'error'), ...openRouter(429, 'slow down') },
        means: 'rate_limited',
      },
    ],
    oddities: [
      {
        says: 'within its choice that it is rate limited',
        stream: [
          {
            ...part({}),
            choices: [{ delta: {}, finish_reason: 'error', ...openRouter(429, 'slow down') }],
          },
          DONE,
        ],
        fate: { next: 'rate_limited' },
      },
      {
        says: 'one thought in two fields',
        stream: [
          part({ reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] }),
          part({ content: 'Yes' }, 'stop'),
          DONE,
        ],
        fate: { reasoning: 'Hm.', text: 'Yes' },
      },
    ],
  },
  {
    // Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Together',
    place: 'hosted_a',
    manner: {
      around: { prompt: [] },
      role: 'each',
      finish: { stop: 'eos' },
      beside: { tool_calls: [] },
    },
    refusals: [
      // The words of TGI.
      refused(
        'context_length',
        422,
        openAi(
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 40097',
          null,
        ),
      ),
      refused(
        'quota',
        402,
        openAi(
          'Credit limit exceeded, please navigate to your billing page.',
          'credit_limit',
          'credit_limit',
        ),
      ),
      refused(
        'model_not_found',
        404,
        openAi(
          'Unable to access model m. Please visit the list of supported models.',
          'model_not_available',
        ),
      ),
    ],
    // github.com/maximhq/bifrost/issues/6711
    lists: {
      body: [{ id: 'm', object: 'model', created: 7, organization: 'Meta', context_length: 4096 }],
      model: { id: 'm', created: 7, owner: 'Meta', context_length: 4096 },
    },
  },
  {
    name: 'Fireworks',
    place: 'hosted_a',
    manner: { usage: 'with the end' },
    refusals: [
      // github.com/vercel/ai/issues/18307
      refused('model_not_found', 404, {
        error: {
          object: 'error',
          type: 'invalid_request_error',
          code: 'NOT_FOUND',
          message: 'Model not found, inaccessible, and/or not deployed',
        },
      }),
      refused('context_length', 400, {
        error: {
          object: 'error',
          type: 'invalid_request_error',
          code: 'invalid_request_error',
          message: 'The prompt is too long: 200000, model maximum context length: 131071',
        },
      }),
      refused('quota', 412, {
        error: {
          object: 'error',
          message: 'Account x is suspended, possibly due to reaching the monthly spending limit.',
        },
      }),
    ],
  },
  {
    // github.com/cloudflare/ai/issues/192; github.com/decolua/9router/issues/1645.
    name: 'Cloudflare Workers AI',
    place: 'hosted_a',
    manner: { finish: { tool_calls: 'stop' }, finishAt: 'twice', end: 'twice' },
    refusals: [
      // github.com/cloudflare/cloudflare-docs/issues/15116
      refused('bad_response', 200, {
        result: null,
        success: false,
        errors: [{ code: 3040, message: 'Capacity temporarily exceeded.' }],
        messages: [],
      }),
      // developers.cloudflare.com/workers-ai/platform/pricing
      refused('quota', 429, {
        success: false,
        errors: [
          {
            code: 4006,
            message: 'AiError: you have used up your daily free allocation of 10,000 neurons',
          },
        ],
      }),
      refused('model_not_found', 400, {
        result: null,
        success: false,
        errors: [{ code: 5007, message: 'No such model m or task' }],
        messages: [],
      }),
      refused(
        'http_524',
        524,
        '<!DOCTYPE html><html><body>A timeout occurred in the queue of the model</body></html>',
        { headers: { 'content-type': 'text/html' } },
      ),
      // The page of a firewall says nothing of a key.
      refused(
        'http_403',
        403,
        '<!DOCTYPE html><html><body>Sorry, you have been blocked: invalid API key</body></html>',
        { headers: { 'content-type': 'text/html' } },
      ),
    ],
    oddities: [
      {
        // github.com/decolua/9router/issues/1645
        says: 'a lone digit as a number',
        stream: [
          part({ content: 'It costs ' }),
          part({ content: 4 }),
          part({ content: '.5' }, 'stop'),
          DONE,
        ],
        fate: { text: 'It costs 4.5' },
      },
      {
        says: 'several ends with text between them',
        stream: [
          part({ content: 'Do not ' }, 'stop'),
          part({ content: 'press it.' }),
          part({}, 'stop'),
          DONE,
          DONE,
        ],
        fate: { text: 'Do not press it.' },
      },
    ],
  },
  {
    // github.com/badlogic/pi-mono, packages/ai, openai-completions.ts.
    name: 'Chutes',
    place: 'hosted_a',
    manner: { reasoning: 'both' },
  },
  {
    // github.com/aaif-goose/goose/issues/7929.
    name: 'LongCat',
    place: 'hosted_a',
    manner: { blank: '', role: 'each' },
  },
  {
    // github.com/cline/cline/issues/2115; github.com/Aider-AI/aider/issues/2296.
    name: 'GitHub Models',
    place: 'hosted_a',
    manner: {
      before: [
        { id: '', object: '', created: 0, model: '', choices: [], prompt_filter_results: [] },
      ],
    },
    refusals: [
      refused(
        'context_length',
        413,
        openAi(
          'Request body too large for m model. Max size: 8000 tokens.',
          'tokens_limit_reached',
        ),
      ),
      refused('model_not_found', 400, openAi('Unknown model: m', 'unknown_model')),
      refused(
        'rate_limited',
        429,
        openAi('Rate limit of 150 per 86400s exceeded for UserByModelByDay.', 'RateLimitReached'),
        { headers: { 'retry-after': '5000' }, waitMs: 600_000 },
      ),
    ],
    fields: [
      {
        // github.com/RooCodeInc/Roo-Code/issues/7054: gpt-4.1; Codex sends it with the names of newer models.
        about: 'how much to say',
        from: 'responses',
        request: { text: { verbosity: 'low' } },
        status: 400,
        body: openAi(
          "Unsupported value: 'verbosity' does not support 'low' with this model. Supported values are: 'medium'.",
          'unsupported_value',
        ),
        minds: (body) => 'verbosity' in body,
        sent: {},
      },
      {
        // github.com/inboxapi/cli/issues/106: Claude Code passes on what MCP servers say.
        about: 'a tool that takes nothing',
        from: 'messages',
        request: { tools: [{ name: 'a', input_schema: { type: 'object' } }] },
        status: 400,
        body: openAi(
          "Invalid schema for function 'a': In context=(), object schema missing properties.",
          'invalid_function_parameters',
        ),
        minds: (body) => !JSON.stringify(body).includes('"properties":{}'),
        sent: {},
      },
      {
        // github.com/QwenLM/qwen-code/issues/921: gpt-5.
        about: 'a temperature',
        request: { temperature: 0 },
        status: 400,
        body: openAi(
          "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
          'unsupported_value',
        ),
        minds: (body) => 'temperature' in body,
        sent: {},
      },
    ],
  },
  {
    name: 'GitHub Copilot',
    place: 'hosted_a',
    manner: { beside: { content: null } },
    oddities: [
      {
        // github.com/BerriAI/litellm/issues/35021
        says: 'its thoughts in a field of its own',
        stream: [
          part({ role: 'assistant', reasoning_text: 'H' }),
          part({ reasoning_text: 'm.' }),
          part({ reasoning_opaque: 'x' }),
          part({ content: 'Yes' }),
          part({}, 'stop'),
          DONE,
        ],
        whole: answer({ content: 'Yes', reasoning_text: 'Hm.', reasoning_opaque: 'x' }),
        fate: { reasoning: 'Hm.', text: 'Yes' },
      },
    ],
    refusals: [
      refused(
        'context_length',
        400,
        openAi(
          'prompt token count of 140000 exceeds the limit of 128000',
          'model_max_prompt_tokens_exceeded',
        ),
      ),
      refused(
        'quota',
        402,
        openAi('You have exceeded your premium request allowance.', 'quota_exceeded'),
      ),
      refused(
        'unsupported_feature',
        400,
        openAi('The requested model is not supported.', 'model_not_supported'),
      ),
    ],
  },
  {
    // huggingface.co/docs/inference-providers, Errors.
    name: 'Hugging Face',
    place: 'hosted_a',
    manner: {},
    refusals: [
      refused('quota', 402, {
        error: 'You have exceeded your monthly included credits for Inference Providers.',
      }),
      refused(
        'unsupported_feature',
        400,
        openAi(
          "The requested model 'm' is not supported by any provider you have enabled.",
          'model_not_supported',
        ),
      ),
    ],
  },
  {
    name: 'SiliconFlow',
    place: 'hosted_a',
    manner: { reasoning: 'reasoning', usage: 'each' },
    refusals: [
      refused('model_not_found', 400, {
        code: 20012,
        message: 'Model does not exist. Please check it carefully.',
        data: null,
      }),
      refused('quota', 403, {
        code: 30001,
        message: 'Sorry, your account balance is insufficient',
        data: null,
      }),
    ],
  },
  {
    // github.com/earendil-works/pi/issues/2017; github.com/vercel/ai/issues/18614.
    name: 'Baseten',
    place: 'hosted_a',
    manner: { usage: 'in the choice' },
    oddities: [
      {
        says: 'more tokens of reasoning than of output',
        stream: [
          part({ content: 'Yes' }, 'stop'),
          usagePart(10, 5, { completion_tokens_details: { reasoning_tokens: 9 } }),
          DONE,
        ],
        fate: { text: 'Yes' },
        tokens: { input: 10, output: 5, cached: 0, estimated: false },
      },
    ],
  },
  {
    // Portkey-AI/gateway, providers/perplexity-ai: the text so far beside each delta.
    name: 'Perplexity',
    place: 'hosted_a',
    manner: {
      around: { citations: ['https://example.com'], search_results: [] },
      usage: 'each',
      lineEnd: '\r\n',
    },
    refusals: [
      refused('model_not_found', 400, {
        error: {
          message: "Invalid model 'm'. Permitted models can be found in the documentation.",
          type: 'invalid_model',
          code: 400,
        },
      }),
      // A page of the firewall in front of it.
      refused(
        'credentials',
        401,
        '<html><head><title>401 Authorization Required</title></head></html>',
        { headers: { 'content-type': 'text/html' } },
      ),
    ],
    oddities: [
      {
        says: 'the text so far beside each delta',
        stream: [
          beside('Do not ', 'Do not '),
          beside('press it.', 'Do not press it.'),
          part({}, 'stop'),
          DONE,
        ],
        fate: { text: 'Do not press it.' },
      },
    ],
  },
];
