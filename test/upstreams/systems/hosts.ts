import { answer, DONE, part, usagePart } from '../speech.ts';
import type { Listed } from '../system.ts';

/** As OpenRouter says it. */
const failed = (code: number, message: string) => ({ error: { code, message } });

/** A chunk with a message beside its delta. */
const beside = (content: string, soFar: string) => ({
  ...part({}),
  choices: [{ index: 0, delta: { content }, message: { content: soFar }, finish_reason: null }],
});

/** Hosts of models by others. */
export const HOSTS: readonly Listed[] = [
  {
    // openrouter.ai/docs, Streaming.
    name: 'OpenRouter',
    manner: {
      around: { provider: 'Host', native_finish_reason: null },
      role: 'each',
      reasoning: 'reasoning',
      life: ': OPENROUTER PROCESSING\n\n',
      usage: 'end again',
    },
    gaveUp: ['error'],
    failures: [
      // github.com/diegosouzapw/OmniRoute/issues/8210; github.com/dcdpr/jp/issues/978
      {
        event: { ...part({}), choices: [], ...failed(502, 'Provider error') },
        means: 'bad_response',
      },
      {
        event: { ...part({ content: '' }, 'error'), ...failed(429, 'slow down') },
        means: 'rate_limited',
      },
    ],
    oddities: [
      {
        says: 'within the choice of a whole answer that credits are short',
        whole: { choices: [{ ...failed(402, 'Insufficient credits'), message: { content: '' } }] },
        fate: { next: 'quota' },
      },
      {
        // github.com/BerriAI/litellm/issues/21755
        says: 'with a 200 that it is rate limited',
        whole: failed(429, 'Rate limit exceeded: free-models-per-min.'),
        fate: { next: 'rate_limited' },
      },
      {
        says: 'within its choice that it is rate limited',
        stream: [
          {
            ...part({}),
            choices: [{ delta: {}, finish_reason: 'error', ...failed(429, 'slow down') }],
          },
        ],
        fate: { next: 'rate_limited' },
      },
      {
        says: 'one thought in two fields',
        stream: [
          part({ reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] }),
          part({ content: 'Yes' }, 'stop'),
        ],
        fate: { reasoning: 'Hm.', text: 'Yes' },
      },
    ],
  },
  {
    // Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Together',
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
    // github.com/cloudflare/ai/issues/192; github.com/decolua/9router/issues/1645.
    name: 'Cloudflare Workers AI',
    manner: { finish: { tool_calls: 'stop' }, finishAt: 'twice', end: 'twice' },
    oddities: [
      {
        // github.com/cloudflare/cloudflare-docs/issues/15116
        says: 'with a 200 that it has no capacity',
        whole: {
          result: null,
          success: false,
          errors: [{ code: 3040, message: 'Capacity temporarily exceeded.' }],
        },
        fate: { next: 'bad_response' },
      },
      {
        // github.com/decolua/9router/issues/1645
        says: 'a lone digit as a number',
        stream: [
          part({ content: 'It costs ' }),
          part({ content: 4 }),
          part({ content: '.5' }, 'stop'),
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
        ],
        fate: { text: 'Do not press it.' },
      },
    ],
  },
  {
    // github.com/badlogic/pi-mono, packages/ai, openai-completions.ts.
    name: 'Chutes',
    manner: { reasoning: 'both' },
  },
  {
    name: 'GitHub Copilot',
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
        ],
        whole: answer({ content: 'Yes', reasoning_text: 'Hm.', reasoning_opaque: 'x' }),
        fate: { reasoning: 'Hm.', text: 'Yes' },
      },
    ],
  },
  {
    // github.com/earendil-works/pi/issues/2017; github.com/vercel/ai/issues/18614.
    name: 'Baseten',
    manner: { usage: 'in the choice' },
    oddities: [
      {
        says: 'more tokens of reasoning than of output',
        stream: [
          part({ content: 'Yes' }, 'stop'),
          usagePart(10, 5, { completion_tokens_details: { reasoning_tokens: 9 } }),
        ],
        fate: { text: 'Yes' },
        tokens: { input: 10, output: 5, cached: 0, estimated: false },
      },
    ],
  },
  {
    // Portkey-AI/gateway, providers/perplexity-ai: the text so far beside each delta.
    name: 'Perplexity',
    manner: {
      around: { citations: ['https://example.com'], search_results: [] },
      usage: 'each',
      lineEnd: '\r\n',
    },
    oddities: [
      {
        says: 'the text so far beside each delta',
        stream: [
          beside('Do not ', 'Do not '),
          beside('press it.', 'Do not press it.'),
          part({}, 'stop'),
        ],
        fate: { text: 'Do not press it.' },
      },
    ],
  },
];
