export const thisMachine = {
  title: 'This machine',
  modes: {
    on: { word: 'Resume', done: 'This machine takes requests.' },
    drained: {
      word: 'Finish, then hold back',
      done: 'This machine takes no new requests; running ones may finish.',
    },
    paused: { word: 'Hold back', done: 'This machine is held back.' },
  },
  rules: {
    limits: {
      maxGpuTemperatureC: { name: 'Limit in °C', unit: '°C' },
      idleUnloadMin: { name: 'Time in minutes', unit: 'min' },
    } as Readonly<Record<string, { readonly name: string; readonly unit: string }>>,
  },
  memory: {
    uses: { embedding: 'embeddings', rerank: 'reranking', other: 'speech or pictures' },
  },
  engines: {
    vllm: 'vLLM',
    'llama.cpp': 'llama.cpp',
    ollama: 'Ollama',
    lmstudio: 'LM Studio',
    sglang: 'SGLang',
    tgi: 'TGI',
    mlx: 'MLX',
    jan: 'Jan',
    koboldcpp: 'KoboldCpp',
    'llama-swap': 'llama-swap',
    docker: 'Docker Model Runner',
    other: 'An engine',
  } as Readonly<Record<string, string>>,
  health: {
    ok: 'ready',
    loading: 'loading a model',
    unauthorized: 'requires a key',
    unreachable: 'does not answer',
    unresponsive: 'accepts connections but does not answer',
  },
};
