import * as kinds from './setting-types.ts';
import { oneOf, optional, setting } from './setting-types.ts';

/** How an upstream can be asked to continue a partial answer; docs/routing.md#after-a-cut. */
const PREFILL = oneOf({
  auto: 'Detected from the address or the names in the model list; an unknown engine counts as none.',
  none: 'A stream is resumed here only where the answer repeats (temperature 0 or a seed).',
  'last-message': 'llama.cpp, Ollama, LMDeploy, Groq, Claude up to 4.5, some models of OpenRouter.',
  continue_final_message: 'vLLM, SGLang and recent versions of llama.cpp.',
  prefix: 'Mistral, and DeepSeek at its address ending in /beta.',
});

/** Which protocols an upstream speaks beside chat completions; docs/http-api.md#endpoints. */
const PROTOCOLS = oneOf({
  auto: 'Tried first; if it lacks the endpoint, chat completions are used for the next ten minutes.',
  native: 'It serves both itself.',
  chat: 'It serves neither; both are translated to chat completions and back.',
});

const MODELS_MEANING =
  'IDs of other models that it serves. Requests for one of them come here first.';

/** What an upstream charges, and how much may be spent there; `prefix` as in `HOSTED_A`. */
function priceSettings(prefix: string) {
  return {
    priceInput: optional(
      `${prefix}_PRICE_INPUT`,
      kinds.amount,
      'Price of a million input tokens, for the history. Empty: none.',
    ),
    priceOutput: optional(
      `${prefix}_PRICE_OUTPUT`,
      kinds.amount,
      'Price of a million output tokens.',
    ),
    priceCached: optional(
      `${prefix}_PRICE_CACHED`,
      kinds.amount,
      'Price of a million input tokens from its cache. Empty: the same as other input tokens.',
    ),
    budgetDay: optional(
      `${prefix}_BUDGET_DAY`,
      kinds.amount,
      'Once this much is spent in a day at these prices, it is not called until the next day. Empty: no limit.',
    ),
    budgetMonth: optional(
      `${prefix}_BUDGET_MONTH`,
      kinds.amount,
      'The same for a month, from its first day on.',
    ),
  };
}

const PROTOCOLS_MEANING = 'Whether it serves /v1/responses and /v1/messages.';
const TIMEOUT = 'Longest wait for the first token; then the request falls back.';
const PREFILL_MEANING = 'How a partial answer is continued here after a stream was dropped.';

/** The settings that the hosted upstreams and `ondemand` share; `prefix` as in `HOSTED_A`. */
function remote(prefix: string, address: string, timeoutMs: number, timeout = TIMEOUT) {
  return {
    baseUrl: optional(`${prefix}_BASE_URL`, kinds.httpUrl, address),
    apiKey: optional(
      `${prefix}_API_KEY`,
      kinds.secret,
      'Sent as a bearer token. Kept by the gateway and never shown again.',
    ),
    model: optional(
      `${prefix}_MODEL`,
      kinds.text,
      'Model ID sent to this upstream. Empty: the one that the app asks for.',
    ),
    models: setting(`${prefix}_MODELS`, kinds.models, [], MODELS_MEANING),
    label: optional(`${prefix}_LABEL`, kinds.text, 'Name shown in the window.'),
    timeoutMs: setting(`${prefix}_TIMEOUT_MS`, kinds.milliseconds, timeoutMs, timeout),
    headers: setting(
      `${prefix}_HEADERS`,
      kinds.headerMap,
      {},
      'Sent with every request. A new set replaces the current one.',
    ),
    assemble: setting(
      `${prefix}_ASSEMBLE`,
      kinds.flag,
      true,
      'Stream from the upstream even if the app does not: failures show early.',
    ),
    prefill: setting(`${prefix}_PREFILL`, PREFILL, 'auto', PREFILL_MEANING),
    ...priceSettings(prefix),
    protocols: setting(`${prefix}_PROTOCOLS`, PROTOCOLS, 'auto', PROTOCOLS_MEANING),
  };
}

const HOSTED_URL = 'Base URL of the API, such as https://api.example.com/v1.';

/** The settings of each upstream, in routing order. */
export const UPSTREAM_SETTINGS = {
  local: {
    baseUrl: optional(
      'LOCAL_ENGINE_URL',
      kinds.httpUrl,
      'Such as http://127.0.0.1:11434 for Ollama. Empty: the machines that have joined serve.',
    ),
    timeoutMs: setting('LOCAL_TIMEOUT_MS', kinds.milliseconds, 60_000, TIMEOUT),
    prefill: setting('LOCAL_PREFILL', PREFILL, 'auto', PREFILL_MEANING),
    protocols: setting('LOCAL_PROTOCOLS', PROTOCOLS, 'auto', PROTOCOLS_MEANING),
  },
  hosted_a: remote('HOSTED_A', HOSTED_URL, 30_000),
  hosted_b: remote('HOSTED_B', HOSTED_URL, 30_000),
  hosted_c: remote('HOSTED_C', HOSTED_URL, 30_000),
  ondemand: {
    ...remote(
      'ONDEMAND',
      'Address of the GPU that starts on demand, without /v1.',
      120_000,
      'Longest wait for the first token, a cold start included; then the request falls back.',
    ),
    warmup: setting(
      'ONDEMAND_WARMUP',
      kinds.flag,
      true,
      'Start it in the background when Local fails. Off: it starts when a request reaches it.',
    ),
  },
};
