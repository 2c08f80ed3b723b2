import { openAi } from '../refused.ts';
import { typed } from '../../support/protocols.ts';
import {
  answer,
  MESSAGE_START,
  messageEnd,
  part,
  piece,
  usagePart,
  responseEvents,
} from '../speech.ts';
import type { Listed } from '../system.ts';

/** Hosts that serve their own models. */
export const MAKERS: readonly Listed[] = [
  {
    name: 'OpenAI',
    manner: { opening: { content: '', refusal: null } },
    oddities: [
      {
        // github.com/NousResearch/hermes-agent/pull/5689; github.com/commontoolsinc/labs/pull/5092: the host of Codex.
        says: 'no output in its last event',
        native: 'responses',
        stream: responseEvents('Yes', 'response.completed', { status: 'completed', output: [] }),
        fate: { text: 'Yes' },
      },
      {
        // platform.openai.com/docs/api-reference/responses-streaming
        says: 'that it failed at a limit',
        native: 'responses',
        stream: [
          typed('response.failed', {
            response: {
              status: 'failed',
              error: { code: 'rate_limit_exceeded', message: 'Please try again in 11s.' },
            },
          }),
        ],
        fate: { next: 'rate_limited' },
      },
    ],
    // github.com/vercel/ai/issues/17230: clients act on the code.
    failures: [{ event: openAi('too long', 'context_length_exceeded'), means: 'context_length' }],
  },
  {
    // github.com/Azure/azure-sdk-for-go/issues/21086; github.com/langchain-ai/langchain/issues/18977.
    name: 'Azure OpenAI',
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
    oddities: [
      {
        says: 'nothing, as it was filtered',
        stream: [part({ role: 'assistant' }), part({}, 'content_filter')],
        whole: answer({ content: null }, 'content_filter'),
        fate: { finish: 'content_filter' },
      },
    ],
  },
  {
    // platform.claude.com/docs, OpenAI SDK compatibility.
    name: 'Anthropic',
    manner: { usage: 'with the end' },
    lists: {
      body: {
        data: [
          { type: 'model', id: 'm', created_at: '1970-01-01T00:00:07Z', max_input_tokens: 4096 },
        ],
        has_more: false,
      },
      model: { id: 'm', created: 7, context_length: 4096 },
    },
    oddities: [
      {
        // github.com/vercel/ai, map-anthropic-stop-reason.ts
        says: 'a refusal without words',
        native: 'messages',
        stream: [MESSAGE_START, ...messageEnd('refusal')],
        fate: { finish: 'content_filter' },
      },
      {
        says: 'that it calls a tool, and calls none',
        native: 'messages',
        stream: [MESSAGE_START, ...messageEnd('tool_use')],
        fate: { next: 'bad_response' },
      },
    ],
  },
  {
    // github.com/THU-MAIC/OpenMAIC/issues/1556; github.com/googleapis/python-genai/issues/2868.
    name: 'Gemini',
    manner: {
      role: 'each',
      calls: { index: 'none', arguments: 'whole' },
      finish: { tool_calls: 'stop' },
      usage: 'each',
      lineEnd: '\r\n',
    },
    // github.com/HKUDS/Vibe-Trading/pull/308; github.com/NousResearch/hermes-agent/pull/83886
    gaveUp: ['function_call_filter: MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'],
    oddities: [
      {
        says: 'no choice, and no reason',
        stream: [{ ...part({}), choices: [] }],
        whole: { ...answer({}), choices: [] },
        fate: { next: 'bad_response' },
      },
      {
        // github.com/agentjido/req_llm/issues/935
        says: 'a call that it could not write',
        stream: [part({ role: 'assistant' }, 'MALFORMED_FUNCTION_CALL')],
        whole: answer({ content: '' }, 'MALFORMED_FUNCTION_CALL'),
        fate: { next: 'bad_response' },
      },
      {
        // github.com/dyedd/lens/issues/49, a reseller: nothing tells whose arguments they are.
        says: 'the arguments of two calls under one index',
        stream: [
          part({ tool_calls: [piece(0, 'a', '{"n":1}', { id: 'call_1' })] }),
          part({ tool_calls: [piece(0, null, '{"n":2}')] }),
          part({}, 'tool_calls'),
        ],
        fate: { broken: '' },
      },
    ],
  },
  {
    // github.com/AstrBotDevs/AstrBot/issues/6661: pieces without an index.
    name: 'Vertex',
    manner: {
      role: 'each',
      calls: { index: 'none' },
      finish: { length: 'MAX_TOKENS', content_filter: 'SAFETY', stop: 'STOP' },
      lineEnd: '\r\n',
    },
  },
  {
    name: 'xAI',
    manner: { role: 'each', calls: { arguments: 'whole' } },
    oddities: [
      {
        // github.com/vercel/ai/issues/12485
        says: 'more cached tokens than input',
        stream: [
          part({ content: 'Yes' }, 'stop'),
          usagePart(10, 5, { prompt_tokens_details: { cached_tokens: 100 } }),
        ],
        fate: { text: 'Yes' },
        tokens: { input: 110, cached: 100, output: 5, estimated: false },
      },
      {
        // github.com/vercel/ai/issues/12425
        says: 'thoughts that only the total counts',
        stream: [
          part({ content: 'Yes' }, 'stop'),
          usagePart(12, 1, {
            total_tokens: 399,
            completion_tokens_details: { reasoning_tokens: 386 },
          }),
        ],
        fate: { text: 'Yes' },
        tokens: { input: 12, cached: 0, output: 387, estimated: false },
      },
    ],
  },
];
