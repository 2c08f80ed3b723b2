import { AGENT_PORTS } from '#shared/agent.ts';
import * as kinds from './setting-types.ts';
import { oneOf, optional, setting, type Setting } from './setting-types.ts';

/** How an upstream can be asked to continue a partial answer; docs/reference/routing-rules.md#continuing-a-dropped-stream. */
const PREFILL = oneOf({
  auto: 'Inglenook detects it from the address or the model list. An unknown engine is treated as none.',
  none: 'A dropped stream continues here only if the answer can be repeated (temperature 0 or a seed).',
  'last-message': 'For llama.cpp, Ollama, LMDeploy, Groq and some models of OpenRouter.',
  continue_final_message: 'For vLLM, SGLang and recent versions of llama.cpp.',
  prefix: 'For Mistral, and for DeepSeek at its address ending in /beta.',
});

/** Which protocols an upstream speaks in addition to chat completions; docs/reference/http-api.md#endpoints. */
const PROTOCOLS = oneOf({
  auto: 'Inglenook tries both. If an endpoint is missing, chat completions replace it for ten minutes.',
  native: 'The source has both.',
  chat: 'The source has neither. Inglenook translates both to chat completions and back.',
});

const MODELS_MEANING =
  'Other models that this source has, such as gpt-4o,o3. For these, sources that have the model are called first.';

/** What an upstream charges, and how much may be spent there. */
const PRICE_SETTINGS = {
  priceInput: optional(kinds.amount, 'Price of a million input tokens, such as 0.15.'),
  priceOutput: optional(kinds.amount, 'Price of a million output tokens, such as 0.60.'),
  priceCached: optional(
    kinds.amount,
    'Price of a million input tokens that come from the cache. Leave empty to use the input price.',
  ),
  budgetDay: optional(
    kinds.amount,
    'Daily spending limit, such as 2. Once it is reached, this source is skipped until the next day. It needs the prices.',
  ),
  budgetMonth: optional(
    kinds.amount,
    'Monthly spending limit, such as 30. It resets on the first of the month. It needs the prices.',
  ),
};

const PROTOCOLS_MEANING = 'Whether this source has /v1/responses and /v1/messages.';
const TIMEOUT = 'How long to wait for the first token before the request falls back.';
const LOCAL_TIMEOUT =
  'How long to wait for the first token before the request falls back. A long prompt gets more.';
const PREFILL_MEANING = 'How this source continues a partial answer.';

/** The settings that the hosted upstreams and `ondemand` share. */
function remote(address: string, timeoutMs: number, timeout = TIMEOUT) {
  return {
    baseUrl: optional(kinds.httpUrl, address),
    apiKey: optional(
      kinds.secret,
      'Your API key for this source. It is sent to no other, and never shown again.',
    ),
    model: optional(
      kinds.text,
      'Model to request, such as gpt-4o-mini. Without it and other models, the source is sent the name that the app uses, and a request for auto fails.',
    ),
    models: setting(kinds.models, [], MODELS_MEANING),
    label: optional(kinds.text, 'Name shown in the dashboard, such as Groq.'),
    timeoutMs: setting(kinds.milliseconds, timeoutMs, timeout),
    headers: setting(
      kinds.headerMap,
      {},
      'Headers to send with every request, such as {"X-Org":"acme"}. A new set replaces the current one.',
    ),
    assemble: setting(
      kinds.flag,
      true,
      'Always stream from this source, even if the app doesn’t, so that failures are caught early.',
    ),
    prefill: setting(PREFILL, 'auto', PREFILL_MEANING),
    ...PRICE_SETTINGS,
    protocols: setting(PROTOCOLS, 'auto', PROTOCOLS_MEANING),
  };
}

const HOSTED_URL = 'Base URL of the API, such as https://api.openai.com/v1.';

const UPSTREAM_SETTINGS = {
  local: {
    baseUrl: optional(
      kinds.httpUrl,
      'For example http://127.0.0.1:11434 for Ollama. It counts as free, even if it charges you. Leave empty to use the machines that have joined.',
    ),
    timeoutMs: setting(kinds.milliseconds, 60_000, LOCAL_TIMEOUT),
    prefill: setting(PREFILL, 'auto', PREFILL_MEANING),
    protocols: setting(PROTOCOLS, 'auto', PROTOCOLS_MEANING),
    rescueToolCalls: setting(
      kinds.oneOf({
        on: 'They become real calls if the app offers the tool.',
        off: 'They stay in the text.',
      }),
      'on',
      'What happens to tool calls that a local model wrote into its text.',
    ),
  },
  hosted_a: remote(HOSTED_URL, 30_000),
  hosted_b: remote(HOSTED_URL, 30_000),
  hosted_c: remote(HOSTED_URL, 30_000),
  ondemand: {
    ...remote(
      'Address of the rented GPU, such as https://api.runpod.ai/v2/ENDPOINT_ID/openai. It may end in /v1.',
      120_000,
      'How long to wait for the first token, including a cold start, before the request fails.',
    ),
    warmup: setting(
      kinds.flag,
      true,
      'Start it in the background as soon as your GPUs fail. If off, it starts when a request reaches it.',
    ),
  },
};

/** Read once at the start, so a change takes effect after a restart. */
const AT_START = { restart: true };

/** docs/reference/routing-rules.md#models. */
const MODEL_FALLBACK = oneOf({
  any: 'Yes: another source may answer with the model that it has.',
  same: 'No: only sources that have the model are called. If that is why none can answer, the app gets a 404.',
});

/** Every setting, once: types, errors, `--help`, docs/reference/configuration.md and the window come from here. */
export const SETTINGS = {
  ...UPSTREAM_SETTINGS,
  circuit: {
    failThreshold: setting(
      kinds.count,
      5,
      'How many calls in a row may fail before the source is skipped.',
    ),
    cooldownMs: setting(
      kinds.milliseconds,
      60_000,
      'How long a failing source is skipped at first, before one request tries it again.',
    ),
    ttftThresholdMs: setting(
      kinds.milliseconds,
      5000,
      'How long a first token may take before it is slow, and another source may be called too.',
    ),
    ttftSlowThreshold: setting(
      kinds.count,
      3,
      'How many slow answers in a row a source may give before it is skipped.',
    ),
  },
  routing: {
    forceZero: setting(
      kinds.flag,
      false,
      'Only your GPUs may answer. Paid sources are never called.',
    ),
    modelAliases: setting(
      kinds.aliases,
      [],
      'Names for models, separated by commas: fast=llama-3.1-8b,gpt-*=qwen3-30b.',
    ),
    modelFallback: setting(
      MODEL_FALLBACK,
      'any',
      'Whether a source may answer with a model that the app didn’t request.',
    ),
    idleTimeoutMs: setting(
      kinds.milliseconds,
      30_000,
      'How long an answer may go quiet before Inglenook treats it as dropped.',
    ),
    keepAliveMs: setting(
      kinds.pause,
      30_000,
      'How long an app waits for your GPUs or the rented GPU before the answer begins with signs of life, which keep apps and proxies waiting.',
    ),
    affinity: setting(
      kinds.oneOf({
        auto: 'A conversation stays with the machine that has read it, unless another one would answer sooner.',
        off: 'Speed and load alone decide.',
      }),
      'auto',
      'Whether a conversation returns to the machine that has its prompt in the cache.',
    ),
    healthChecks: setting(
      kinds.flag,
      true,
      'Check sources that get no requests, through routes that cost nothing. A skipped source that passes is tried again before its pause ends.',
    ),
    retryAfterMaxMs: setting(
      kinds.milliseconds,
      2000,
      'Longest Retry-After to wait for. If a source asks for more, the request falls back.',
    ),
    hedge: setting(
      kinds.oneOf({
        own: 'Your machines can back up any source. A paid source is backed up by another paid source, and both charge you.',
        all: 'Paid sources back up your machines too: prompts may leave your network, and those calls are paid.',
        off: 'Inglenook waits for a slow source until its timeout.',
      }),
      'own',
      'Which sources may be called too if the first is slow to start. Your machines never read a long prompt twice.',
    ),
    resume: setting(
      kinds.oneOf({
        'same-model': 'Sources with the same model may continue it.',
        any: 'Any source may continue it, so the style may change.',
        off: 'None: the answer ends with an error, and the app has to ask again.',
      }),
      'same-model',
      'Which sources may continue a dropped stream. Paid sources charge for the prompt again.',
    ),
  },
  agent: {
    enabled: setting(
      kinds.flag,
      true,
      'Share this machine’s engine with gateways. If off, no gateway can use it.',
      AT_START,
    ),
    engineUrl: optional(
      kinds.engineUrl,
      'Address of the engine to share, such as http://127.0.0.1:8080. Leave empty to detect it.',
    ),
    engineApiKey: optional(kinds.secret, 'Key that the engine at that address requires.'),
    host: setting(
      kinds.text,
      '127.0.0.1',
      'Address to listen on for gateways. Joining a gateway sets the address that the gateway can reach.',
    ),
    ports: setting(
      kinds.ports,
      AGENT_PORTS,
      'Ports to listen on for gateways, separated by commas. Gateways look for machines at 3001 and 47901 only.',
    ),
    registryUrl: optional(
      kinds.gateway,
      'Gateway to report to, such as http://192.168.1.10:47900. Leave empty for the gateway on this machine, or the gateway that it has joined.',
    ),
    otherRegistryUrls: setting(
      kinds.gateways,
      [],
      'Other gateways of the pool, to which the machine reports while its own doesn’t respond.',
    ),
    enrollToken: optional(
      kinds.secret,
      'Token from “Add a machine” on that gateway. It works once.',
    ),
    heartbeatMs: setting(
      kinds.milliseconds,
      15_000,
      'How often this machine reports to its gateway.',
    ),
    region: optional(kinds.text, 'Where this machine is, such as office.'),
    onlyWhenIdle: setting(
      kinds.flag,
      false,
      'Take no requests while the machine is in use, and for 5 minutes after.',
    ),
    notOnBattery: setting(kinds.flag, false, 'Take no requests while the machine runs on battery.'),
    maxGpuTemperatureC: optional(
      kinds.celsius,
      'Take no requests once a GPU is this hot, such as 85, until it is 5 °C cooler.',
    ),
    yieldToOthers: setting(
      kinds.flag,
      false,
      'Take no requests until other programs have left the GPU alone for 30 s.',
    ),
    freeMemory: setting(
      kinds.flag,
      false,
      'Also unload all models while a rule holds this machine back, except the rule about heat.',
    ),
    idleUnloadMin: optional(
      kinds.minutes,
      'Unload models that have been idle for this many minutes, such as 30, at llama.cpp’s router and llama-swap.',
    ),
  },
  gateway: {
    host: setting(
      kinds.text,
      '127.0.0.1',
      'Address to listen on. localhost is always included. Other machines can connect only if there are API keys.',
      AT_START,
    ),
    port: setting(
      kinds.port,
      47_900,
      'Port to listen on. It is part of your apps’ base URL.',
      AT_START,
    ),
    apiKeys: setting(
      kinds.secrets,
      [],
      'Keys for apps, separated by commas. With the first key, every app needs one. A new set replaces the current one.',
    ),
    allowedHosts: setting(
      kinds.names,
      [],
      'Extra host names that this gateway answers to, such as gpu-box.local.',
    ),
    allowedOrigins: setting(
      kinds.origins,
      [],
      'Web pages and apps that may call the gateway, such as https://chat.example.com, http://localhost:*, app://obsidian.md.',
    ),
    maxBodyBytes: setting(kinds.byteCount, 33_554_432, 'Largest request body to accept.'),
    maxBodiesInFlightBytes: setting(
      kinds.memoryBytes,
      268_435_456,
      'Memory for the bodies of all running requests, each counted twice. If it is used up, apps get a 503 with Retry-After.',
    ),
    maxConcurrentRequests: setting(
      kinds.count,
      // Below the connections that the server takes, so that a caller is told of the limit.
      2000,
      'How many requests may run at the same time. Further requests get a 503 with Retry-After.',
    ),
    currency: setting(kinds.text, 'USD', 'Currency of the prices you enter, such as EUR.'),
    electricityPriceKwh: optional(
      kinds.amount,
      'Price of a kilowatt-hour, such as 0.30. The cost of electricity is then subtracted from what your GPUs save.',
    ),
    databaseUrl: optional(
      kinds.databaseUrl,
      'PostgreSQL database in which several gateways share their machines, such as postgres://inglenook@db.lan/inglenook. Leave empty to use a file.',
      // Its address may hold a password.
      { ...AT_START, secret: true },
    ),
    poolSecret: optional(
      kinds.poolSecret,
      'Secret by which machines recognize the gateways of a pool, the same for all of them. Leave empty to use the file gateway-secret in the data directory.',
      AT_START,
    ),
    poolAddresses: setting(
      kinds.gateways,
      [],
      'Addresses at which machines reach this gateway, or all of a pool, separated by commas. The join command names them.',
    ),
    logLevel: setting(
      oneOf({
        error: 'Errors only.',
        warn: 'Errors and warnings.',
        info: 'Errors, warnings and normal events.',
        debug: 'Everything, for diagnosis.',
      }),
      'info',
      'How much is written to the log.',
      AT_START,
    ),
    logTo: setting(
      oneOf({
        auto: 'Standard error under systemd and in containers, otherwise the file.',
        file: 'logs/inglenook.log in the data directory; two files of 5 MB are kept.',
        stderr: 'Standard error.',
        stdout: 'Standard output.',
      }),
      'auto',
      'Where the log goes. The desktop app writes the file in any case.',
      AT_START,
    ),
    logFormat: setting(
      oneOf({
        auto: 'JSON in the file, otherwise text.',
        text: 'One line of text for each event.',
        json: 'One JSON object per line.',
      }),
      'auto',
      'How the lines of the log are written.',
      AT_START,
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
  /** As in `INGLENOOK_HOSTED_A_BASE_URL`. */
  readonly variable: string;
  readonly setting: Setting<unknown>;
}

export const ENV_PREFIX = 'INGLENOOK_';

/** Variables that are not named after their setting alone. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'local.baseUrl': 'LOCAL_ENGINE_URL',
  'local.rescueToolCalls': 'RESCUE_TOOL_CALLS',
  'agent.enabled': 'AGENT',
  'agent.host': 'AGENT_HOST',
  'agent.ports': 'AGENT_PORTS',
  'agent.onlyWhenIdle': 'AGENT_ONLY_WHEN_IDLE',
  'agent.notOnBattery': 'AGENT_NOT_ON_BATTERY',
  'agent.maxGpuTemperatureC': 'AGENT_MAX_GPU_TEMPERATURE_C',
  'agent.yieldToOthers': 'AGENT_YIELD_TO_OTHERS',
  'agent.freeMemory': 'AGENT_FREE_MEMORY',
  'agent.idleUnloadMin': 'AGENT_IDLE_UNLOAD_MIN',
};

/** The environment variable of a setting: only upstreams, which have the same settings, are named in theirs. */
export function variableOf(section: string, key: string): string {
  const words = key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`);
  const named = section in UPSTREAM_SETTINGS ? `${section}_${words}` : words;
  return ENV_PREFIX + (OTHER_NAMES[`${section}.${key}`] ?? named.toUpperCase());
}

/** All settings as a flat list, in the order of the table. */
export const ENTRIES: readonly Entry[] = Object.entries(SETTINGS).flatMap(([section, keys]) =>
  Object.entries(keys).map(([key, value]) => ({
    section,
    key,
    path: `${section}.${key}`,
    variable: variableOf(section, key),
    setting: value as Setting<unknown>,
  })),
);

/** Whether more could be spent than the owner allows if the setting were lost. */
export const limitsSpending = ({ key }: Entry) => key === 'forceZero' || key in PRICE_SETTINGS;

export function valueAt(config: Config, { section, key }: Entry): unknown {
  const values: Readonly<Record<string, Readonly<Record<string, unknown>>>> = config;
  return values[section]?.[key];
}

/** Undefined resets to the default. */
export interface SettingChange {
  readonly entry: Entry;
  readonly value: unknown;
}
