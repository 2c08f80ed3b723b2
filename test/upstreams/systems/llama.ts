import { answer, part } from '../speech.ts';
import type { Listed } from '../system.ts';

/** llama.cpp, and what is built on it. */
export const LLAMA: readonly Listed[] = [
  {
    // github.com/ggml-org/llama.cpp/issues/20198; github.com/darshi1337/apogee/issues/139.
    name: 'llama.cpp of early 2026',
    manner: {
      around: { timings: { prompt_n: 1, predicted_ms: 1.5 }, system_fingerprint: 'b1' },
      opening: { content: null },
      calls: { arguments: 'object' },
      end: 'no blank line',
      life: ': ping\n\n',
    },
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
    manner: { role: 'each', reasoning: 'reasoning', calls: { index: 'zero', arguments: 'whole' } },
    oddities: [
      {
        // github.com/ollama/ollama, middleware/openai.go: a chunk made of an error.
        says: 'an empty chunk in place of the rest',
        stream: [part({ content: 'Pre' }), part({ content: '' })],
        isOpen: true,
        fate: { broken: 'Pre' },
      },
      {
        // github.com/cloudflare/ai/issues/561.
        says: 'nothing at all, and that it calls a tool',
        stream: [part({}, 'tool_calls')],
        whole: answer({ content: '' }, 'tool_calls'),
        fate: { next: 'bad_response' },
      },
    ],
  },
  {
    // github.com/ollama/ollama/issues/4357.
    name: 'Ollama 0.1',
    manner: { role: 'each', unfinished: '', usage: 'none' },
  },
  {
    // github.com/lmstudio-ai/lmstudio-bug-tracker/issues/649.
    name: 'LM Studio',
    manner: { role: 'each', calls: { id: 'empty later', name: 'empty later' } },
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
    // github.com/LostRuins/koboldcpp/issues/2480 and /2481; github.com/PowerShell/AIShell/issues/350.
    name: 'KoboldCpp',
    manner: {
      role: 'each',
      unfinished: 'null',
      usage: 'none',
      named: 'event: message\n',
      isClosing: true,
    },
    gaveUp: ['error'],
  },
  {
    // The same issues: with tools in the request it does not stream.
    name: 'KoboldCpp with tools',
    manner: { isWhole: true, usage: 'none', isClosing: true },
  },
  {
    // Runs llama.cpp (docs.docker.com/ai/model-runner).
    name: 'Docker Model Runner',
    manner: { opening: { content: null } },
    // github.com/docker/hello-genai/issues/25: callers say `ai/m`.
    lists: {
      body: { object: 'list', data: [{ id: 'docker.io/ai/m:latest', owned_by: 'docker' }] },
      model: { id: 'docker.io/ai/m:latest', owner: 'docker' },
    },
  },
];
