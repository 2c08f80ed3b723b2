import type { System } from '../system.ts';

/** Hosts that serve their own models. */
export const MAKERS: readonly System[] = [
  {
    name: 'OpenAI',
    place: 'hosted_a',
    manner: { opening: { content: '', refusal: null } },
  },
  {
    // github.com/Azure/azure-sdk-for-go/issues/21086; github.com/langchain-ai/langchain/issues/18977.
    name: 'Azure OpenAI',
    place: 'hosted_a',
    manner: {
      before: [
        { id: '', model: '', object: '', created: 0, choices: [], prompt_filter_results: [] },
      ],
      behind: [
        {
          id: '',
          model: '',
          object: '',
          created: 0,
          choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }],
        },
      ],
    },
  },
  {
    // platform.claude.com/docs, OpenAI SDK compatibility.
    name: 'Anthropic by chat completions',
    place: 'hosted_a',
    manner: { usage: 'with the end' },
  },
  {
    // github.com/THU-MAIC/OpenMAIC/issues/1556; github.com/googleapis/python-genai/issues/2868.
    name: 'Gemini',
    place: 'hosted_a',
    manner: {
      role: 'each',
      calls: { index: 'none', arguments: 'whole' },
      finish: { tool_calls: 'stop' },
      usage: 'each',
      lineEnd: '\r\n',
    },
  },
  {
    // github.com/AstrBotDevs/AstrBot/issues/6661: pieces without an index.
    name: 'Vertex',
    place: 'hosted_a',
    manner: {
      role: 'each',
      calls: { index: 'none' },
      finish: { length: 'MAX_TOKENS', content_filter: 'SAFETY', stop: 'STOP' },
      lineEnd: '\r\n',
    },
  },
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
  },
  {
    name: 'xAI',
    place: 'hosted_a',
    manner: { role: 'each', calls: { arguments: 'whole' } },
  },
  {
    // api-docs.deepseek.com, Rate Limit: comments while it is held.
    name: 'DeepSeek',
    place: 'hosted_a',
    manner: { life: ': keep-alive\n\n', opening: { content: null, reasoning_content: '' } },
  },
  {
    // github.com/earendil-works/pi/issues/2017.
    name: 'Moonshot',
    place: 'hosted_a',
    manner: { usage: 'in the choice' },
  },
  {
    // github.com/lobehub/lobehub/issues/11219; github.com/vercel/ai/issues/19091.
    name: 'Qwen at DashScope',
    place: 'hosted_a',
    manner: { calls: { id: 'empty later', name: 'each' }, beside: { content: null } },
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
  },
  {
    name: 'MiniMax',
    place: 'hosted_a',
    manner: { role: 'each', unfinished: 'absent', usage: 'with the end' },
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
  },
  {
    // Portkey-AI/gateway, providers/perplexity-ai: the text so far beside each delta.
    name: 'Perplexity',
    place: 'hosted_a',
    manner: { usage: 'each', lineEnd: '\r\n' },
  },
];
