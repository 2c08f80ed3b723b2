import { oneOf } from './setting-types.ts';

/** How an upstream can be asked to continue a partial answer; docs/routing.md#after-a-cut. */
export const PREFILL = oneOf({
  auto: 'Detected from the address or the names in the model list; an unknown engine counts as none.',
  none: 'A stream is resumed here only where the answer repeats (temperature 0 or a seed).',
  'last-message': 'llama.cpp, Ollama, LMDeploy, Groq, Claude up to 4.5, some models of OpenRouter.',
  continue_final_message: 'vLLM, SGLang and recent versions of llama.cpp.',
  prefix: 'Mistral, and DeepSeek at its address ending in /beta.',
});

/** Which protocols an upstream speaks beside chat completions; docs/http-api.md#endpoints. */
export const PROTOCOLS = oneOf({
  auto: 'Tried first; if it lacks the endpoint, chat completions are used for the next ten minutes.',
  native: 'It serves both itself.',
  chat: 'It serves neither; both are translated to chat completions and back.',
});

export const MODELS_MEANING =
  'IDs of other models that it serves. An app that requests one of them gets it, and from here first.';

/** docs/routing.md#models. */
export const MODEL_FALLBACK = oneOf({
  any: 'Another upstream answers with the model that it has.',
  same: 'Only upstreams that have the model are called; without one, the app gets a 404.',
});
