import * as kinds from './setting-types.ts';
import type { Kind } from './setting-types.ts';

/** What every variable of this program begins with. */
export const ENV_PREFIX = 'SWITCHYARD_';

/** One setting: where it comes from, what it may be, what it is when nobody says. */
export interface Setting<T> {
  /** Environment variable without the `SWITCHYARD_` prefix. */
  readonly env: string;
  readonly kind: Kind<NonNullable<T>>;
  readonly fallback: T;
  /** Never shown, logged or written to the settings file. */
  readonly secret: boolean;
  /** It is read once, so a change holds after a restart. */
  readonly restart: boolean;
}

function setting<T extends {}>(
  env: string,
  kind: Kind<T>,
  fallback: NoInfer<T>,
  secret = false,
): Setting<T> {
  return { env, kind: kind, fallback, secret, restart: false };
}

function optional<T extends {}>(env: string, kind: Kind<T>, secret = false): Setting<T | null> {
  return { env, kind: kind, fallback: null, secret, restart: false };
}

/** A setting of what is put together at the start. */
function atStart<T>(of: Setting<T>): Setting<T> {
  return { ...of, restart: true };
}

/** How an upstream can be asked to go on from a begun answer; each is explained where it is used. */
const PREFILLS = ['auto', 'none', 'last-message', 'continue_final_message', 'prefix'] as const;

/** The settings that the hosted upstreams and `ondemand` share; `prefix` as in `HOSTED_A`. */
function remote(prefix: string, timeoutMs: number) {
  return {
    baseUrl: optional(`${prefix}_BASE_URL`, kinds.httpUrl),
    apiKey: optional(`${prefix}_API_KEY`, kinds.secret, true),
    model: optional(`${prefix}_MODEL`, kinds.text),
    label: optional(`${prefix}_LABEL`, kinds.text),
    headers: setting(`${prefix}_HEADERS`, kinds.headerMap, {}, true),
    timeoutMs: setting(`${prefix}_TIMEOUT_MS`, kinds.milliseconds, timeoutMs),
    assemble: setting(`${prefix}_ASSEMBLE`, kinds.flag, true),
    prefill: setting(`${prefix}_PREFILL`, kinds.oneOf(PREFILLS), 'auto'),
  };
}

/** Every setting, once: the configuration's type, its defaults, its errors and its reports come from here. */
export const SETTINGS = {
  local: {
    baseUrl: optional('LOCAL_ENGINE_URL', kinds.httpUrl),
    timeoutMs: setting('LOCAL_TIMEOUT_MS', kinds.milliseconds, 60_000),
    prefill: setting('LOCAL_PREFILL', kinds.oneOf(PREFILLS), 'auto'),
  },
  hosted_a: remote('HOSTED_A', 30_000),
  hosted_b: remote('HOSTED_B', 30_000),
  hosted_c: remote('HOSTED_C', 30_000),
  ondemand: {
    ...remote('ONDEMAND', 120_000),
    warmup: setting('ONDEMAND_WARMUP', kinds.flag, true),
  },
  circuit: {
    failThreshold: setting('FAIL_THRESHOLD', kinds.count, 5),
    cooldownMs: setting('COOLDOWN_MS', kinds.milliseconds, 60_000),
    ttftThresholdMs: setting('TTFT_THRESHOLD_MS', kinds.milliseconds, 5000),
    ttftSlowThreshold: setting('TTFT_SLOW_THRESHOLD', kinds.count, 3),
  },
  routing: {
    forceZero: setting('FORCE_ZERO', kinds.flag, false),
    idleTimeoutMs: setting('IDLE_TIMEOUT_MS', kinds.milliseconds, 30_000),
    healthChecks: setting('HEALTH_CHECKS', kinds.flag, true),
    retryAfterMaxMs: setting('RETRY_AFTER_MAX_MS', kinds.milliseconds, 2000),
    hedge: setting('HEDGE', kinds.oneOf(['own', 'all', 'off']), 'own'),
    hedgeMs: optional('HEDGE_MS', kinds.milliseconds),
    hedgeBudget: setting('HEDGE_BUDGET', kinds.percent, 5),
    resume: setting('RESUME', kinds.oneOf(['same-model', 'any', 'off']), 'same-model'),
  },
  agent: {
    enabled: atStart(setting('AGENT', kinds.flag, true)),
    host: setting('AGENT_HOST', kinds.text, '127.0.0.1'),
    ports: setting('AGENT_PORTS', kinds.ports, [3001, 47901]),
    engineUrl: optional('ENGINE_URL', kinds.httpUrl),
    registryUrl: optional('REGISTRY_URL', kinds.httpUrl),
    enrollToken: optional('ENROLL_TOKEN', kinds.secret, true),
    heartbeatMs: setting('HEARTBEAT_MS', kinds.milliseconds, 15_000),
    region: optional('REGION', kinds.text),
    onlyWhenIdle: setting('AGENT_ONLY_WHEN_IDLE', kinds.flag, false),
    notOnBattery: setting('AGENT_NOT_ON_BATTERY', kinds.flag, false),
    maxGpuTemperatureC: optional('AGENT_MAX_GPU_TEMPERATURE_C', kinds.celsius),
    yieldToOthers: setting('AGENT_YIELD_TO_OTHERS', kinds.flag, false),
  },
  gateway: {
    host: atStart(setting('HOST', kinds.text, '127.0.0.1')),
    port: atStart(setting('PORT', kinds.port, 47_900)),
    allowedHosts: setting('ALLOWED_HOSTS', kinds.names, []),
    allowedOrigins: setting('ALLOWED_ORIGINS', kinds.origins, []),
    apiKeys: setting('API_KEYS', kinds.secrets, [], true),
    maxBodyBytes: setting('MAX_BODY_BYTES', kinds.byteCount, 33_554_432),
    maxBodiesInFlightBytes: setting('MAX_BODIES_IN_FLIGHT_BYTES', kinds.memoryBytes, 268_435_456),
    logLevel: atStart(
      setting('LOG_LEVEL', kinds.oneOf(['error', 'warn', 'info', 'debug']), 'info'),
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

/** One setting's value in a configuration. */
export function valueAt(config: Config, { section, key }: Entry): unknown {
  const values: Readonly<Record<string, Readonly<Record<string, unknown>>>> = config;
  return values[section]?.[key];
}

/** One value to be set; undefined puts the default back. */
export interface SettingChange {
  readonly entry: Entry;
  readonly value: unknown;
}
