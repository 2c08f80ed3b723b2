import {
  answer,
  CALL_BLOCK,
  MESSAGE_START,
  messageEnd,
  part,
  piece,
  responseEvents,
  textBlock,
  usagePart,
} from '../speech.ts';
import type { Listed } from '../system.ts';

/** Engines that people run themselves. */
export const ENGINES: readonly Listed[] = [
  {
    // github.com/vllm-project/vllm/issues/50624: `reasoning` since 2026.
    name: 'vLLM 0.12',
    manner: {
      around: { prompt_token_ids: null, service_tier: null },
      reasoning: 'reasoning',
      opening: { content: '', reasoning: null },
    },
    // github.com/vllm-project/vllm/issues/57082; github.com/vllm-project/guidellm/issues/743.
    gaveUp: ['abort'],
    failures: [{ event: { error: { message: 'timed out', code: 504 } }, means: 'bad_response' }],
    oddities: [
      {
        // github.com/vllm-project/vllm/issues/53255; github.com/Kilo-Org/kilocode/pull/7773
        says: 'that it calls a tool, and calls none',
        stream: [part({ content: 'Yes' }), part({}, 'tool_calls')],
        whole: answer({ content: 'Yes', tool_calls: [] }, 'tool_calls'),
        fate: { text: 'Yes' },
      },
      {
        // github.com/mistralai/mistral-vibe/pull/615; github.com/rhesis-ai/rhesis/pull/2488
        says: 'arguments with line breaks and tabs as they are',
        stream: [
          part({ tool_calls: [piece(0, 'a', '{\n"t":', { id: 'call_1' })] }),
          part({ tool_calls: [piece(0, null, '"a\n\tb\\n"}')] }),
          part({}, 'tool_calls'),
        ],
        fate: { calls: [{ name: 'a', arguments: { t: 'a\n\tb\n' } }], finish: 'tool_calls' },
      },
      {
        // github.com/vllm-project/vllm/issues/40986
        says: 'only that all is done',
        stream: [],
        fate: { next: 'bad_response' },
      },
      {
        // github.com/vllm-project/agentic-api/pull/296
        says: 'that it is done, though it calls a tool',
        native: 'messages',
        stream: [MESSAGE_START, ...CALL_BLOCK, ...messageEnd('end_turn')],
        whole: {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'call_1', name: 'a', input: { n: 1 } }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 1, output_tokens: 2 },
        },
        fate: { calls: [{ name: 'a', arguments: { n: 1 } }], finish: 'tool_calls' },
      },
      {
        // github.com/vllm-project/vllm, entrypoints/anthropic/serving.py: an answer that it gave up.
        says: 'an end without a reason',
        native: 'messages',
        stream: [MESSAGE_START, ...textBlock('Pre'), ...messageEnd(null)],
        fate: { broken: 'Pre' },
      },
      {
        // github.com/vllm-project/agentic-api/issues/273
        says: 'that an answer is complete which the limit cut off',
        native: 'responses',
        stream: responseEvents('Pre', 'response.completed', {
          status: 'incomplete',
          incomplete_details: { reason: 'max_output_tokens' },
        }),
        fate: { text: 'Pre', finish: 'length' },
      },
    ],
    lists: {
      body: {
        object: 'list',
        data: [{ id: 'm', owned_by: 'vllm', max_model_len: 4096, permission: [] }],
      },
      model: { id: 'm', owner: 'vllm', context_length: 4096 },
    },
  },
  {
    // github.com/vllm-project/vllm/issues/378 and /36944: the reason beside the last words, `[DONE]` twice.
    name: 'vLLM 0.6',
    manner: { finishAt: 'last words', end: 'twice', opening: {} },
    failures: [{ event: { object: 'error', message: 'gone', code: 500 }, means: 'bad_response' }],
  },
  {
    // github.com/sgl-project/sglang/issues/3912 and /9657.
    name: 'SGLang 0.4.3',
    manner: { unfinished: '', beside: { tool_calls: null, function_call: null } },
    gaveUp: ['abort'],
    // github.com/sgl-project/sglang/issues/28175
    failures: [
      { event: { error: { message: 'The request queue is full.', code: 503 } }, means: 'busy' },
    ],
    oddities: [
      {
        says: 'its usage, and none again',
        stream: [
          part({ content: 'Yes' }, null, { usage: null }),
          part({}, 'stop', { usage: null }),
          usagePart(10, 5),
          { ...usagePart(10, 5), usage: null },
        ],
        fate: { text: 'Yes' },
        tokens: { input: 10, output: 5, cached: 0, estimated: false },
      },
    ],
  },
  {
    // github.com/InternLM/lmdeploy, lmdeploy/serve/openai/protocol.py.
    name: 'LMDeploy',
    manner: { role: 'each', calls: { id: 'each', name: 'each' } },
    gaveUp: ['parse_error'],
  },
  {
    // github.com/huggingface/text-generation-inference/issues/2949, /2136 and /2794.
    name: 'TGI 3.1',
    manner: {
      role: 'each',
      calls: { arguments: 'object', isOne: true, index: 'zero' },
      finish: { tool_calls: 'stop', stop: 'stop_sequence' },
      life: ':\n\n',
    },
    // github.com/huggingface/text-generation-inference, router/src/infer/mod.rs: a 422 whatever it was.
    failures: [
      {
        event: { error: { message: 'worker died', http_status_code: 422 } },
        means: 'bad_response',
      },
    ],
  },
  {
    // github.com/ml-explore/mlx-lm, mlx_lm/server.py: HTTP/1.0, comments while it reads the prompt.
    name: 'MLX-LM',
    manner: { reasoning: 'reasoning', life: ': keepalive 512/4096\n\n', isClosing: true },
  },
];
