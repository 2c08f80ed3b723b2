import { refused } from '../refused.ts';
import {
  CALL_BLOCK,
  DONE,
  MESSAGE_START,
  messageEnd,
  part,
  responseEvents,
  textBlock,
  usagePart,
} from '../speech.ts';
import type { System } from '../system.ts';

/** Engines that people run themselves. */
export const ENGINES: readonly System[] = [
  {
    // github.com/vllm-project/vllm/issues/50624: `reasoning` since 2026.
    name: 'vLLM 0.12',
    place: 'local',
    manner: {
      around: { prompt_token_ids: null, service_tier: null },
      reasoning: 'reasoning',
      opening: { content: '', reasoning: null },
    },
    refusals: [
      // github.com/vllm-project/vllm, input processing
      refused('context_length', 400, {
        object: 'error',
        message:
          'The decoder prompt (length 5000) is longer than the maximum model length of 4096.',
        type: 'BadRequestError',
        code: 400,
      }),
      refused('unsupported_feature', 400, {
        object: 'error',
        message:
          '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        type: 'BadRequestError',
        code: 400,
      }),
      // github.com/vllm-project/vllm/issues/19144
      refused('unsupported_input', 400, {
        object: 'error',
        message: 'm is not a multimodal model',
        type: 'BadRequestError',
        code: 400,
      }),
      refused('unsupported_input', 400, {
        error: {
          message: 'At most 1 image(s) may be provided in one prompt.',
          type: 'BadRequestError',
          code: 400,
        },
      }),
      // github.com/vllm-project/vllm, entrypoints/openai: a prompt that leaves no room.
      refused('context_length', 400, {
        error: { message: 'max_tokens must be at least 1, got -904.', code: 400 },
      }),
    ],
    // github.com/vllm-project/vllm/issues/57082; github.com/vllm-project/guidellm/issues/743.
    gaveUp: ['abort'],
    failures: [{ event: { error: { message: 'timed out', code: 504 } }, means: 'bad_response' }],
    oddities: [
      {
        // github.com/vllm-project/vllm/issues/40986
        says: 'only that all is done',
        stream: [DONE],
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
    place: 'local',
    manner: { finishAt: 'last words', end: 'twice', opening: {} },
    failures: [{ event: { object: 'error', message: 'gone', code: 500 }, means: 'bad_response' }],
  },
  {
    // github.com/sgl-project/sglang/issues/3912 and /9657.
    name: 'SGLang 0.4.3',
    place: 'local',
    manner: { unfinished: '', beside: { tool_calls: null, function_call: null } },
    refusals: [
      // github.com/sgl-project/sglang, srt/managers/utils.py
      refused('context_length', 400, {
        object: 'error',
        message:
          'Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens). Use a shorter input or enable --allow-auto-truncate.',
        type: 'BadRequestError',
        code: 400,
      }),
      // docs.sglang.ai, SGLang Model Gateway: beyond its queue.
      refused('busy', 429, ''),
    ],
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
          DONE,
        ],
        fate: { text: 'Yes' },
        tokens: { input: 10, output: 5, cached: 0, estimated: false },
      },
    ],
  },
  {
    // github.com/InternLM/lmdeploy, lmdeploy/serve/openai/protocol.py.
    name: 'LMDeploy',
    place: 'local',
    manner: { role: 'each', calls: { id: 'each', name: 'each' } },
    // lmdeploy/serve/core/exceptions.py
    refusals: [
      refused('unsupported_feature', 400, {
        object: 'error',
        message: 'The requested feature is not supported.',
        type: 'invalid_request_error',
        code: 400,
      }),
    ],
    gaveUp: ['parse_error'],
  },
  {
    // github.com/huggingface/text-generation-inference/issues/2949, /2136 and /2794.
    name: 'TGI 3.1',
    place: 'local',
    manner: {
      role: 'each',
      calls: { arguments: 'object', isOne: true, index: 'zero' },
      finish: { tool_calls: 'stop', stop: 'stop_sequence' },
      life: ':\n\n',
    },
    refusals: [
      // github.com/huggingface/text-generation-inference, router/src/server.rs
      refused('context_length', 422, {
        error:
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000',
        error_type: 'validation',
      }),
      refused('http_424', 424, {
        error: 'Request failed during generation: Server error: CUDA out of memory',
        error_type: 'generation',
      }),
    ],
    // github.com/huggingface/text-generation-inference, router/src/infer/mod.rs: a 422 whatever it was.
    failures: [
      {
        event: { error: { message: 'worker died', http_status_code: 422 } },
        means: 'bad_response',
      },
    ],
  },
  {
    name: 'oMLX',
    place: 'local',
    manner: {},
    refusals: [
      // github.com/jundot/omlx/issues/2179
      refused('context_length', 400, {
        error: {
          message: 'Prefill context too large for available memory (preflight safety guard)',
          type: 'invalid_request_error',
        },
      }),
      // github.com/jundot/omlx/issues/62
      refused('model_not_found', 507, {
        detail: 'Cannot load m: projected memory 127.68GB would exceed process limit 88.00GB',
      }),
    ],
    failures: [
      // github.com/jundot/omlx/issues/1488
      {
        event: { error: { message: 'Memory limit exceeded during prefill' } },
        means: 'context_length',
      },
    ],
  },
  {
    // github.com/theroyallab/tabbyAPI, endpoints/OAI.
    name: 'TabbyAPI',
    place: 'local',
    manner: { usage: 'end again' },
    refusals: [
      // github.com/theroyallab/tabbyAPI, common/errors.py and common/networking.py
      refused('context_length', 400, {
        error: {
          message: 'Prompt length 5000 is greater than max_seq_len 4096',
          code: 'context_length_exceeded',
        },
      }),
      refused('http_422', 422, { detail: 'Sampler override is not allowed here' }),
      refused('model_not_found', 400, { detail: 'No models are currently loaded.' }),
    ],
    failures: [
      {
        event: { error: { message: 'Prompt too long', code: 'context_length_exceeded' } },
        means: 'context_length',
      },
    ],
  },
  {
    // github.com/ml-explore/mlx-lm, mlx_lm/server.py: HTTP/1.0, comments while it reads the prompt.
    name: 'MLX-LM',
    place: 'local',
    manner: { reasoning: 'reasoning', life: ': keepalive 512/4096\n\n', isClosing: true },
    refusals: [
      // github.com/ml-explore/mlx-lm, mlx_lm/server.py: any failure before the first token.
      refused('http_404', 404, { error: 'Failed to load the tokenizer' }),
    ],
  },
  {
    // github.com/ai-dynamo/dynamo/issues/4723.
    name: 'Dynamo',
    place: 'local',
    manner: { role: 'each', calls: { index: 'zero', arguments: 'whole' } },
  },
  {
    // github.com/NVIDIA/TensorRT-LLM, llmapi/llm.py.
    name: 'TensorRT-LLM',
    place: 'local',
    manner: {},
    refusals: [
      refused('context_length', 400, {
        object: 'error',
        message:
          'The sum of prompt length (8193.0), query length (0) should not exceed max_num_tokens (8192)',
        type: 'BadRequestError',
        code: 400,
      }),
    ],
  },
  {
    // github.com/Ai00-X/ai00_server/issues/90.
    name: 'ai00',
    place: 'local',
    manner: { unfinished: 'null' },
  },
];
