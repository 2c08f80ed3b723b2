import type { System } from '../system.ts';

/** Engines that people run themselves. */
export const ENGINES: readonly System[] = [
  {
    // github.com/vllm-project/vllm/issues/50624: `reasoning` since 2026.
    name: 'vLLM 0.12',
    place: 'local',
    manner: { reasoning: 'reasoning', opening: { content: '', reasoning: null } },
  },
  {
    // github.com/vllm-project/vllm/issues/378 and /36944: the reason beside the last words, `[DONE]` twice.
    name: 'vLLM 0.6',
    place: 'local',
    manner: { finishAt: 'last words', end: 'twice', opening: {} },
  },
  {
    // github.com/sgl-project/sglang/issues/3912 and /9657.
    name: 'SGLang 0.4.3',
    place: 'local',
    manner: { unfinished: '', beside: { tool_calls: null, function_call: null } },
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
  },
  {
    // github.com/ggml-org/llama.cpp/issues/20198; github.com/darshi1337/apogee/issues/139.
    name: 'llama.cpp of early 2026',
    place: 'local',
    manner: {
      opening: { content: null },
      calls: { arguments: 'object' },
      end: 'no blank line',
      life: ': ping\n\n',
    },
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
  },
  {
    // github.com/ml-explore/mlx-lm, mlx_lm/server.py: HTTP/1.0, comments while it reads the prompt.
    name: 'MLX-LM',
    place: 'local',
    manner: { reasoning: 'reasoning', life: ': keepalive 512/4096\n\n', isClosing: true },
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
  },
];
