import { AGENT_PORTS } from '#shared/agent.ts';
import { OTHER_REGISTRIES, POOL_SETTINGS } from './pool-settings.ts';
import * as kinds from './setting-types.ts';
import { atStart, oneOf, optional, setting, type Setting } from './setting-types.ts';

/** How an upstream can be asked to continue a partial answer; docs/reference/routing-rules.md#continuing-a-dropped-stream. */
const PREFILL = oneOf({
  auto: 'Detected from the address or the names in the model list; an unknown engine counts as none.',
  none: 'A stream is resumed here only where the answer repeats (temperature 0 or a seed).',
  'last-message': 'llama.cpp, Ollama, LMDeploy, Groq, Claude up to 4.5, some models of OpenRouter.',
  continue_final_message: 'vLLM, SGLang and recent versions of llama.cpp.',
  prefix: 'Mistral, and DeepSeek at its address ending in /beta.',
});

/** Which protocols an upstream speaks beside chat completions; docs/reference/http-api.md#endpoints. */
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
    label: optional(`${prefix}_LABEL`, kinds.text, 'Name shown in the dashboard.'),
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
const UPSTREAM_SETTINGS = {
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

export const ENV_PREFIX = 'SWITCHYARD_';

/** docs/reference/routing-rules.md#models. */
const MODEL_FALLBACK = oneOf({
  any: 'Another upstream answers with the model that it has.',
  same: 'Only upstreams that have the model are called; without one, the app gets a 404.',
});

/** Every setting, once: types, errors, `--help`, docs/reference/configuration.md and the window come from here. */
export const SETTINGS = {
  ...UPSTREAM_SETTINGS,
  circuit: {
    failThreshold: setting(
      'FAIL_THRESHOLD',
      kinds.count,
      5,
      'Consecutive failures before an upstream is skipped.',
    ),
    cooldownMs: setting(
      'COOLDOWN_MS',
      kinds.milliseconds,
      60_000,
      'How long it is skipped before one request tries it again.',
    ),
    ttftThresholdMs: setting(
      'TTFT_THRESHOLD_MS',
      kinds.milliseconds,
      5000,
      'A first token later than this counts as slow.',
    ),
    ttftSlowThreshold: setting(
      'TTFT_SLOW_THRESHOLD',
      kinds.count,
      3,
      'Slow answers in a row before it is skipped.',
    ),
  },
  routing: {
    forceZero: setting('FORCE_ZERO', kinds.flag, false, 'Only Local is called.'),
    modelAliases: setting(
      'MODEL_ALIASES',
      kinds.aliases,
      [],
      'Names for models, as in fast=llama-3.1-8b or gpt-*=qwen3-30b. Upstreams that have the model are asked first.',
    ),
    modelFallback: setting(
      'MODEL_FALLBACK',
      MODEL_FALLBACK,
      'any',
      'Whether another model may stand in for the one that an app asks for.',
    ),
    idleTimeoutMs: setting(
      'IDLE_TIMEOUT_MS',
      kinds.milliseconds,
      30_000,
      'Longest silence within an answer; then it counts as dropped.',
    ),
    affinity: setting(
      'AFFINITY',
      kinds.oneOf({
        auto: 'A conversation stays with the machine that has read it, unless another one would answer sooner.',
        off: 'Speed and load alone decide.',
      }),
      'auto',
      'Whether a conversation returns to the machine that has its prompt in the cache.',
    ),
    healthChecks: setting(
      'HEALTH_CHECKS',
      kinds.flag,
      true,
      'Upstreams that get no requests are checked through routes that cost nothing; a skipped one that passes gets the next request before its cool-down ends.',
    ),
    retryAfterMaxMs: setting(
      'RETRY_AFTER_MAX_MS',
      kinds.milliseconds,
      2000,
      'Longest Retry-After of an upstream to wait for; a longer one falls back.',
    ),
    hedge: setting(
      'HEDGE',
      kinds.oneOf({
        own: 'Your machines back up each other; paid ones back up each other, and both calls are paid.',
        all: 'Paid upstreams back up your machines too: the prompt leaves your network, and every call is paid.',
        off: 'A slow upstream is waited for until its timeout.',
      }),
      'own',
      'Which upstreams get a second call while the first has no token yet.',
    ),
    hedgeMs: optional(
      'HEDGE_MS',
      kinds.milliseconds,
      'Time without a first token until the second call. Empty: the slow threshold.',
    ),
    hedgeBudget: setting(
      'HEDGE_BUDGET',
      kinds.percent,
      5,
      'Share of the last 200 requests that may be hedged, but at least “Slow answers in a row”. 0: none.',
    ),
    resume: setting(
      'RESUME',
      kinds.oneOf({
        'same-model': 'Upstreams with this model continue it; you pay for the prompt again.',
        any: 'Any upstream continues it, so the style may change; you pay for the prompt again.',
        off: 'The answer ends with an error, and the app has to ask again.',
      }),
      'same-model',
      'Which upstreams may continue a dropped stream.',
    ),
  },
  agent: {
    enabled: atStart(setting('AGENT', kinds.flag, true, 'Off: this machine serves no gateway.')),
    engineUrl: optional('ENGINE_URL', kinds.httpUrl, 'Address of its engine. Empty: detected.'),
    engineApiKey: optional('ENGINE_API_KEY', kinds.secret, 'Key of the engine at that address.'),
    host: setting(
      'AGENT_HOST',
      kinds.text,
      '127.0.0.1',
      'Address of the agent. Joining a gateway sets the one that the gateway can reach.',
    ),
    ports: setting(
      'AGENT_PORTS',
      kinds.ports,
      AGENT_PORTS,
      'Ports of the agent, separated by commas. Gateways look at 3001 and 47901.',
    ),
    registryUrl: optional(
      'REGISTRY_URL',
      kinds.httpUrl,
      'Gateway to report to. Empty: this one, or the one that the machine has joined.',
    ),
    otherRegistryUrls: OTHER_REGISTRIES,
    enrollToken: optional(
      'ENROLL_TOKEN',
      kinds.secret,
      'Token from “Add a machine” of that gateway. It works once.',
    ),
    heartbeatMs: setting('HEARTBEAT_MS', kinds.milliseconds, 15_000, 'Time between two reports.'),
    region: optional('REGION', kinds.text, 'Label shown with this machine.'),
    onlyWhenIdle: setting(
      'AGENT_ONLY_WHEN_IDLE',
      kinds.flag,
      false,
      'Take no requests while the machine is in use, and for 5 minutes after.',
    ),
    notOnBattery: setting('AGENT_NOT_ON_BATTERY', kinds.flag, false, 'No requests on battery.'),
    maxGpuTemperatureC: optional(
      'AGENT_MAX_GPU_TEMPERATURE_C',
      kinds.celsius,
      'Take no requests while a GPU is this hot, and until it is 5 °C cooler.',
    ),
    yieldToOthers: setting(
      'AGENT_YIELD_TO_OTHERS',
      kinds.flag,
      false,
      'Take no requests until other programs have left the GPU alone for 30 s.',
    ),
    freeMemory: setting(
      'AGENT_FREE_MEMORY',
      kinds.flag,
      false,
      'Also unload all models while one of these rules holds, except for the one about heat.',
    ),
    idleUnloadMin: optional(
      'AGENT_IDLE_UNLOAD_MIN',
      kinds.minutes,
      'Unload models that nobody has used for so many minutes, at engines that do not do it themselves: llama.cpp’s router and llama-swap. The next request loads them again.',
    ),
  },
  gateway: {
    host: atStart(
      setting(
        'HOST',
        kinds.text,
        '127.0.0.1',
        'Address of the gateway; 127.0.0.1 includes ::1, an outside address includes both. Other machines can connect only if API keys are set.',
      ),
    ),
    port: atStart(
      setting('PORT', kinds.port, 47_900, 'Port of the gateway, part of your apps’ base URL.'),
    ),
    apiKeys: setting(
      'API_KEYS',
      kinds.secrets,
      [],
      'Keys for apps, separated by commas; a new set replaces the current one. Every app then needs a key.',
    ),
    allowedHosts: setting('ALLOWED_HOSTS', kinds.names, [], 'More Host names to accept.'),
    allowedOrigins: setting(
      'ALLOWED_ORIGINS',
      kinds.origins,
      [],
      'Web pages and app schemes that may call the gateway: https://chat.example.com, http://localhost:*, app://obsidian.md.',
    ),
    maxBodyBytes: setting(
      'MAX_BODY_BYTES',
      kinds.byteCount,
      33_554_432,
      'Larger request bodies are refused.',
    ),
    maxBodiesInFlightBytes: setting(
      'MAX_BODIES_IN_FLIGHT_BYTES',
      kinds.memoryBytes,
      268_435_456,
      'Memory for all requests in flight, each body counted twice; beyond it apps get 503 and Retry-After.',
    ),
    maxConcurrentRequests: setting(
      'MAX_CONCURRENT_REQUESTS',
      kinds.count,
      5000,
      'Chat requests that run at the same time; more wait for up to 10 s, each app in turn, then get 503.',
    ),
    currency: setting(
      'CURRENCY',
      kinds.text,
      'USD',
      'Currency of the prices, shown after amounts.',
    ),
    electricityPriceKwh: optional(
      'ELECTRICITY_PRICE_KWH',
      kinds.amount,
      'Price of a kilowatt-hour. What your GPUs take for answers is taken off what they save.',
    ),
    ...POOL_SETTINGS,
    logLevel: atStart(
      setting(
        'LOG_LEVEL',
        oneOf({
          error: 'Errors only.',
          warn: 'Errors and warnings.',
          info: 'Errors, warnings and normal events.',
          debug: 'Everything, for diagnosis.',
        }),
        'info',
        'How much is written to the log.',
      ),
    ),
    logTo: atStart(
      setting(
        'LOG_TO',
        oneOf({
          auto: 'Standard error under systemd and in containers, otherwise the file.',
          file: 'logs/switchyard.log in the data directory; two files of 5 MB are kept.',
          stderr: 'Standard error.',
          stdout: 'Standard output.',
        }),
        'auto',
        'Where the log goes. The desktop app writes the file in any case.',
      ),
    ),
    logFormat: atStart(
      setting(
        'LOG_FORMAT',
        oneOf({
          auto: 'JSON in the file, otherwise text.',
          text: 'One line of text for each event.',
          json: 'One JSON object per line.',
        }),
        'auto',
        'How the lines of the log are written.',
      ),
    ),
  },
};

type Values<Section> = {
  readonly [Key in keyof Section]: Section[Key] extends Setting<infer T> ? T : never;
};

/** The whole configuration: an immutable value, replaced as a whole when a setting changes. */
export type Config = {
  readonly [Section in keyof typeof SETTINGS]: Values<(typeof SETTINGS)[Section]>;
};

export interface Entry {
  readonly section: string;
  readonly key: string;
  /** As in `hosted_a.baseUrl`. */
  readonly path: string;
  readonly setting: Setting<unknown>;
}

/** All settings as a flat list, in the order of the table. */
export const ENTRIES: readonly Entry[] = Object.entries(SETTINGS).flatMap(([section, keys]) =>
  Object.entries(keys).map(([key, value]) => ({
    section,
    key,
    path: `${section}.${key}`,
    setting: value as Setting<unknown>,
  })),
);

export function valueAt(config: Config, { section, key }: Entry): unknown {
  const values: Readonly<Record<string, Readonly<Record<string, unknown>>>> = config;
  return values[section]?.[key];
}

/** Undefined resets to the default. */
export interface SettingChange {
  readonly entry: Entry;
  readonly value: unknown;
}
