import { refused } from '../refused.ts';
import { part } from '../speech.ts';
import type { System } from '../system.ts';

const ollama = (message: string) => ({
  error: { message, type: 'api_error', param: null, code: null },
});

/** llama.cpp, and what is built on it. */
export const LLAMA: readonly System[] = [
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
      // github.com/ggml-org/llama.cpp, tools/server/server-models.cpp: all it may hold are at work.
      refused('busy', 500, {
        error: { code: 500, message: 'model limit reached, try again later', type: 'server_error' },
      }),
      // github.com/Kilo-Org/kilocode/issues/12408; github.com/QwenLM/qwen-code/issues/10435
      refused('unsupported_feature', 400, {
        error: {
          code: 400,
          message:
            "Unable to generate parser for this template. Automatic parser generation failed: JSON schema conversion failed:\nPattern must start with '^' and end with '$'",
          type: 'invalid_request_error',
        },
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
      refused('model_not_found', 500, {
        error: {
          message: 'model requires more system memory (18.2 GiB) than is available (9.1 GiB)',
          type: 'api_error',
          param: null,
          code: null,
        },
      }),
      // github.com/ollama/ollama, llm/server.go
      refused('bad_response', 500, {
        error: { message: 'llama runner process has terminated: exit status 2', type: 'api_error' },
      }),
      // github.com/continuedev/continue/issues/11444, for a model of its cloud: those of the machine are free.
      refused('model_not_found', 429, {
        error: {
          message: 'you (bob) have reached your weekly usage limit, upgrade for higher limits',
          type: 'api_error',
        },
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
    // github.com/ollama/ollama, llm/llama_server.go: its engine is a llama-server.
    name: 'Ollama of August 2026',
    place: 'local',
    manner: { reasoning: 'reasoning', calls: { arguments: 'whole' } },
    refusals: [
      refused('model_not_found', 500, ollama('llama-server reported out-of-memory during startup')),
      refused(
        'bad_response',
        500,
        ollama('an error was encountered while running the model: CUDA error: out of memory'),
      ),
      refused(
        'context_length',
        400,
        ollama(
          '{"error":{"code":400,"message":"request (5000 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}',
        ),
      ),
      // server/prompt.go, openai/openai.go
      refused(
        'unsupported_input',
        400,
        ollama('this model only supports one image while more than one image requested'),
      ),
      // server/cloud_proxy.go: a model of its cloud, while its owner did not sign in, and where the cloud is switched off.
      refused('model_not_found', 401, {
        error: 'unauthorized',
        signin_url: 'https://ollama.com/connect?name=x&key=y',
      }),
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
      // github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2256; github.com/anomalyco/opencode/issues/11141
      refused('context_length', 400, {
        error: 'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)',
      }),
    ],
    failures: [
      // github.com/QwenLM/qwen-code/issues/3802
      { event: { error: 'Model is unloaded.' }, means: 'busy' },
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
    // github.com/mudler/LocalAI/issues/5102 and /1609.
    name: 'LocalAI 2.26',
    place: 'local',
    manner: { unfinished: '', usage: 'each' },
    refusals: [
      // github.com/mostlygeek/llama-swap/pull/155 and /897: a model whose engine does not start.
      refused(
        'model_not_found',
        502,
        'unable to start process: upstream command exited prematurely',
      ),
    ],
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
