/** The inference engines that are recognised, by kind, with the names that people know them by. */
export const ENGINE_NAMES = {
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
  /** Only if the owner has set the URL. */
  other: 'An engine',
} as const;

export type EngineKind = keyof typeof ENGINE_NAMES;
