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
        'rate_limited',
        429,
        openAi('Rate limit of 150 per 86400s exceeded for UserByModelByDay.', 'RateLimitReached'),
        { headers: { 'retry-after': '5000' }, waitMs: 600_000 },
      ),
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
    ],
  },
  {
    name: 'SiliconFlow',
    place: 'hosted_a',
    manner: { reasoning: 'reasoning', usage: 'each' },
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
