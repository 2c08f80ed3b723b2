import { refused } from '../refused.ts';
import { DONE, part, usagePart } from '../speech.ts';
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
      refused('context_length', 400, {
        error: {
          message:
            "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
          type: 'BadRequestError',
          param: null,
          code: 400,
        },
      }),
      // github.com/vllm-project/vllm, input processing
      refused('context_length', 400, {
        object: 'error',
        message:
          'The decoder prompt (length 5000) is longer than the maximum model length of 4096.',
        type: 'BadRequestError',
        code: 400,
      }),
      refused('model_not_found', 404, {
        error: {
          message: 'The model `m` does not exist.',
          type: 'NotFoundError',
          param: null,
          code: 404,
        },
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
      refused('context_length', 400, {
        object: 'error',
        message: "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        type: 'BadRequestError',
        code: 400,
      }),
      refused('busy', 503, {
        object: 'error',
        message: 'The request queue is full.',
        type: 'SERVICE_UNAVAILABLE',
        code: 503,
      }),
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
      refused('busy', 429, { error: 'Model is overloaded', error_type: 'overloaded' }),
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
    // github.com/ggml-org/llama.cpp/issues/20198; github.com/darshi1337/apogee/issues/139.
    name: 'llama.cpp of early 2026',
    place: 'local',
    manner: {
      around: { timings: { prompt_n: 1, predicted_ms: 1.5 }, system_fingerprint: 'b1' },
      opening: { content: null },
      calls: { arguments: 'object' },
      end: 'no blank line',
      life: ': ping\n\n',
    },
    refusals: [
      refused('context_length', 400, {
        error: {
          code: 400,
          message: 'the request exceeds the available context size, try increasing it',
          type: 'exceed_context_size_error',
          n_prompt_tokens: 5000,
          n_ctx: 4096,
        },
      }),
      refused('busy', 503, {
        error: { code: 503, message: 'Loading model', type: 'unavailable_error' },
      }),
      refused('unsupported_feature', 500, {
        error: { code: 500, message: 'tools param requires --jinja flag', type: 'server_error' },
      }),
      refused('unsupported_input', 500, {
        error: {
          code: 500,
          message:
            'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
          type: 'server_error',
        },
      }),
    ],
    lists: {
      body: {
        models: [{ name: 'm' }],
        object: 'list',
        data: [{ id: 'm', owned_by: 'llamacpp', meta: { n_ctx_train: 4096 } }],
      },
      model: { id: 'm', owner: 'llamacpp' },
    },
  },
  {
    // github.com/ggml-org/llama.cpp/issues/16109 and /14566: errors in a field of their own.
    name: 'llama.cpp of 2025',
    place: 'local',
    manner: { opening: { content: null } },
    failures: [
      { event: 'error: {"code":500,"message":"gone"}\n\n', means: 'bad_response' },
      {
        event: 'error: {"code":400,"message":"too long","type":"exceed_context_size_error"}\n\n',
        means: 'context_length',
      },
    ],
  },
  {
    // github.com/ollama/ollama/issues/15457; openai/openai.go of the same.
    name: 'Ollama 0.20',
    place: 'local',
    manner: {
      role: 'each',
      reasoning: 'reasoning',
      calls: { index: 'zero', arguments: 'whole' },
    },
    refusals: [
      // github.com/ollama/ollama, server/routes.go and server/sched.go
      refused('unsupported_feature', 400, {
        error: {
          message: 'registry.ollama.ai/library/m does not support tools',
          type: 'api_error',
          param: null,
          code: null,
        },
      }),
      refused('unsupported_feature', 400, {
        error: {
          message: '"m" does not support thinking',
          type: 'api_error',
          param: null,
          code: null,
        },
      }),
      refused('model_not_found', 404, {
        error: {
          message: 'model "m" not found, try pulling it first',
          type: 'api_error',
          param: null,
          code: null,
        },
      }),
      refused('busy', 503, {
        error: {
          message: 'server busy, please try again. maximum pending requests exceeded',
          type: 'api_error',
          param: null,
          code: null,
        },
      }),
      refused('model_not_found', 500, {
        error: {
          message: 'model requires more system memory (18.2 GiB) than is available (9.1 GiB)',
          type: 'api_error',
          param: null,
          code: null,
        },
      }),
      // github.com/ollama/ollama/issues/15741, for a model of its cloud
      refused('model_not_found', 403, {
        error: 'this model requires a subscription, upgrade for access: https://ollama.com/upgrade',
      }),
    ],
    oddities: [
      {
        // github.com/ollama/ollama, middleware/openai.go: a chunk made of an error.
        says: 'an empty chunk in place of the rest',
        stream: [part({ content: 'Pre' }), part({ content: '' })],
        fate: { broken: 'Pre' },
      },
    ],
  },
  {
    // github.com/ollama/ollama/issues/4357.
    name: 'Ollama 0.1',
    place: 'local',
    manner: { role: 'each', unfinished: '', usage: 'none' },
  },
  {
    // github.com/lmstudio-ai/lmstudio-bug-tracker/issues/649.
    name: 'LM Studio',
    place: 'local',
    manner: { role: 'each', calls: { id: 'empty later', name: 'empty later' } },
    refusals: [
      refused('model_not_found', 404, {
        error: {
          message: 'No models loaded. Please load a model in the developer page.',
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
      }),
      refused('context_length', 400, {
        error:
          'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
      }),
    ],
    failures: [
      // github.com/zendev-sh/goai/issues/110
      {
        event: 'event: error\ndata: {"error":{"message":"gone"},"message":"gone"}\n\n',
        means: 'bad_response',
      },
      // github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2322
      { event: { error: 'Context size has been exceeded.' }, means: 'context_length' },
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
    // github.com/mudler/LocalAI/issues/5102 and /1609.
    name: 'LocalAI 2.26',
    place: 'local',
    manner: { unfinished: '', usage: 'each' },
  },
  {
    // github.com/LostRuins/koboldcpp/issues/2480 and /2481; github.com/PowerShell/AIShell/issues/350.
    name: 'KoboldCpp',
    place: 'local',
    manner: {
      role: 'each',
      unfinished: 'null',
      usage: 'none',
      named: 'event: message\n',
      isClosing: true,
    },
    refusals: [
      // github.com/LostRuins/koboldcpp/issues/2481
      refused('busy', 503, {
        detail: { msg: 'Server is busy; please try again later.', type: 'service_unavailable' },
      }),
    ],
    gaveUp: ['error'],
  },
  {
    // The same issues: with tools in the request it does not stream.
    name: 'KoboldCpp with tools',
    place: 'local',
    manner: { isWhole: true, usage: 'none', isClosing: true },
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
    // github.com/Ai00-X/ai00_server/issues/90.
    name: 'ai00',
    place: 'local',
    manner: { unfinished: 'null' },
  },
  {
    // Runs llama.cpp (docs.docker.com/ai/model-runner).
    name: 'Docker Model Runner',
    place: 'local',
    manner: { opening: { content: null } },
    refusals: [
      // github.com/docker/hello-genai/issues/25
      refused('model_not_found', 404, 'error while getting model: model not found'),
    ],
    // github.com/docker/hello-genai/issues/25: callers say `ai/m`.
    lists: {
      body: { object: 'list', data: [{ id: 'docker.io/ai/m:latest', owned_by: 'docker' }] },
      model: { id: 'docker.io/ai/m:latest', owner: 'docker' },
    },
  },
];
