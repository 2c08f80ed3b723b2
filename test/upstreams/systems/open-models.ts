import { answer, part, usage, usagePart } from '../speech.ts';
import type { Listed } from '../system.ts';

/** Hosts by makers of open models. */
export const OPEN_MODELS: readonly Listed[] = [
  {
    // github.com/symfony/ai/issues/2424; github.com/vercel/ai/issues/19181; Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Mistral',
    manner: {
      reasoning: 'parts',
      calls: { arguments: 'whole' },
      finish: { length: 'model_length' },
      usage: 'with the end',
    },
    gaveUp: ['error'],
    oddities: [
      {
        says: 'a citation between two texts',
        stream: [
          part({ role: 'assistant', content: 'Do not press it [' }),
          part({ content: [{ type: 'reference', reference_ids: [1] }] }),
          part({ content: '] says the manual.' }),
          part({}, 'stop'),
        ],
        fate: { text: 'Do not press it [] says the manual.' },
      },
      {
        says: 'its first words as a part, and the others as text',
        stream: [
          part({ content: [{ type: 'text', text: 'Do not ' }] }),
          part({ content: 'press it.' }, 'stop'),
        ],
        fate: { text: 'Do not press it.' },
      },
    ],
  },
  {
    // Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Cohere',
    manner: {
      finish: {
        stop: 'COMPLETE',
        length: 'MAX_TOKENS',
        tool_calls: 'TOOL_CALL',
        content_filter: 'ERROR_TOXIC',
      },
      end: 'none',
    },
    gaveUp: ['TIMEOUT', 'ERROR'],
  },
  {
    // api-docs.deepseek.com, Rate Limit: comments while it is held.
    name: 'DeepSeek',
    manner: { life: ': keep-alive\n\n', opening: { content: null, reasoning_content: '' } },
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
    manner: { usage: 'in the choice' },
    oddities: [
      {
        // platform.moonshot.ai/docs/api/chat
        says: 'what it had in its cache beside the other counts',
        stream: [
          part({ content: 'Yes' }),
          part({}, 'stop'),
          usagePart(10, 5, { cached_tokens: 4 }),
        ],
        whole: answer({ content: 'Yes' }, 'stop', usage(10, 5, { cached_tokens: 4 })),
        fate: { text: 'Yes' },
        tokens: { input: 10, output: 5, cached: 4, estimated: false },
      },
    ],
  },
  {
    // github.com/lobehub/lobehub/issues/11219; github.com/vercel/ai/issues/19091.
    name: 'Qwen at DashScope',
    manner: { calls: { id: 'empty later', name: 'each' }, beside: { content: null } },
  },
  {
    // github.com/vercel/ai/issues/15464; Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Z.ai',
    manner: {
      role: 'empty in each',
      finish: { length: 'model_context_window_exceeded', content_filter: 'sensitive' },
      usage: 'with the end',
    },
    gaveUp: ['network_error'],
    oddities: [
      {
        // github.com/BerriAI/litellm/issues/38199: a failure dressed as an answer.
        says: 'nothing, for no tokens',
        stream: [part({ role: 'assistant', content: '' }), part({}, 'stop'), usagePart(10, 0)],
        whole: answer({ content: '' }, 'stop', usage(10, 0)),
        fate: { next: 'bad_response' },
      },
    ],
  },
  {
    name: 'MiniMax',
    manner: {
      around: { base_resp: { status_code: 0, status_msg: '' }, input_sensitive: false },
      role: 'each',
      unfinished: 'absent',
      usage: 'with the end',
    },
    oddities: [
      {
        says: 'with a 200 that there is a limit',
        whole: { base_resp: { status_code: 1002, status_msg: 'rate limit' } },
        fate: { next: 'rate_limited' },
      },
      {
        says: 'with a 200 that the prompt was flagged',
        whole: { base_resp: { status_code: 1026, status_msg: 'input new_sensitive' } },
        fate: { next: 'moderation' },
      },
    ],
  },
];
