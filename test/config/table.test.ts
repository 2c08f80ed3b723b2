import { homedir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { cacheDirectory, dataDirectory } from '../../main/config/data-directory.ts';
import { createSettingsHelp, type LoadedConfig } from '../../main/config/load.ts';
import { ENTRIES, valueAt } from '../../main/config/schema.ts';
import { loadedOf } from '../support/config.ts';

/** What one hosted upstream or `ondemand` takes. */
function remote(prefix: string, timeoutMs: number): Record<string, unknown> {
  return {
    [`${prefix}_BASE_URL`]: null,
    [`${prefix}_API_KEY`]: null,
    [`${prefix}_MODEL`]: null,
    [`${prefix}_MODELS`]: [],
    [`${prefix}_LABEL`]: null,
    [`${prefix}_HEADERS`]: {},
    [`${prefix}_TIMEOUT_MS`]: timeoutMs,
    [`${prefix}_ASSEMBLE`]: true,
    [`${prefix}_PREFILL`]: 'auto',
    [`${prefix}_PRICE_INPUT`]: null,
    [`${prefix}_PRICE_OUTPUT`]: null,
    [`${prefix}_PRICE_CACHED`]: null,
    [`${prefix}_BUDGET_DAY`]: null,
    [`${prefix}_BUDGET_MONTH`]: null,
    [`${prefix}_PROTOCOLS`]: 'auto',
  };
}

/** Every setting with its default, written out: `null` is "none". */
const TABLE: Readonly<Record<string, unknown>> = {
  HOST: '127.0.0.1',
  PORT: 47900,
  ALLOWED_HOSTS: [],
  ALLOWED_ORIGINS: [],
  LOCAL_ENGINE_URL: null,
  LOCAL_TIMEOUT_MS: 60000,
  LOCAL_PREFILL: 'auto',
  LOCAL_PROTOCOLS: 'auto',
  RESCUE_TOOL_CALLS: 'on',
  ...remote('HOSTED_A', 30000),
  ...remote('HOSTED_B', 30000),
  ...remote('HOSTED_C', 30000),
  ...remote('ONDEMAND', 120000),
  ONDEMAND_WARMUP: true,
  FAIL_THRESHOLD: 5,
  COOLDOWN_MS: 60000,
  TTFT_THRESHOLD_MS: 5000,
  TTFT_SLOW_THRESHOLD: 3,
  MODEL_ALIASES: [],
  MODEL_FALLBACK: 'any',
  IDLE_TIMEOUT_MS: 30000,
  KEEP_ALIVE_MS: 30000,
  AFFINITY: 'auto',
  HEDGE: 'own',
  // The TTFT threshold, where it is not set.
  RESUME: 'same-model',
  HEALTH_CHECKS: true,
  RETRY_AFTER_MAX_MS: 2000,
  MAX_BODY_BYTES: 33554432,
  MAX_BODIES_IN_FLIGHT_BYTES: 268435456,
  MAX_CONCURRENT_REQUESTS: 2000,
  FORCE_ZERO: false,
  API_KEYS: [],
  AGENT: true,
  AGENT_HOST: '127.0.0.1',
  AGENT_PORTS: [3001, 47901],
  ENGINE_URL: null,
  ENGINE_API_KEY: null,
  REGISTRY_URL: null,
  OTHER_REGISTRY_URLS: [],
  ENROLL_TOKEN: null,
  HEARTBEAT_MS: 15000,
  REGION: null,
  AGENT_ONLY_WHEN_IDLE: false,
  AGENT_NOT_ON_BATTERY: false,
  AGENT_MAX_GPU_TEMPERATURE_C: null,
  AGENT_YIELD_TO_OTHERS: false,
  AGENT_FREE_MEMORY: false,
  AGENT_IDLE_UNLOAD_MIN: null,
  CURRENCY: 'USD',
  ELECTRICITY_PRICE_KWH: null,
  DATABASE_URL: null,
  POOL_SECRET: null,
  POOL_ADDRESSES: [],
  LOG_LEVEL: 'info',
  LOG_TO: 'auto',
  LOG_FORMAT: 'auto',
};

/** Values by variable, without the prefix. */
function byVariable({ config }: LoadedConfig): Record<string, unknown> {
  return Object.fromEntries(
    ENTRIES.map((entry) => [entry.variable.replace('INGLENOOK_', ''), valueAt(config, entry)]),
  );
}

test('the variables and their defaults are those of the table, no more and no fewer', () => {
  expect(byVariable(loadedOf({}))).toEqual(TABLE);
});

test('every setting has its default, without a warning, if nothing is set', () => {
  const { sources, warnings } = loadedOf({});
  expect(new Set(sources.values())).toEqual(new Set(['default']));
  expect(sources.size).toBe(Object.keys(TABLE).length);
  expect(warnings).toEqual([]);
});

test('an empty or blank variable counts as unset', () => {
  const blank = (text: string) =>
    Object.fromEntries(Object.keys(TABLE).map((name) => [`INGLENOOK_${name}`, text]));
  expect(byVariable(loadedOf(blank('')))).toEqual(TABLE);
  expect(byVariable(loadedOf(blank('  ')))).toEqual(TABLE);
});

test('the help lists every setting with its path, its variable, its default, what it does and what is allowed', () => {
  const lines = createSettingsHelp().split('\n');
  for (const { path, variable, setting } of ENTRIES) {
    const { fallback, meaning, kind } = setting;
    const at = lines.findIndex((line) => line.startsWith(`${path} `));
    const isNone = ['null', '[]', '{}'].includes(JSON.stringify(fallback));
    const shown = isNone ? 'none' : String(fallback);
    expect(lines[at]?.split(/ {2,}/)).toEqual([path, variable, shown]);
    expect(lines.slice(at + 1, at + 3)).toEqual([`  ${meaning}`, `  Allowed: ${kind.allowed}.`]);
  }
  expect(lines.filter((line) => line.includes('INGLENOOK_DATA_DIR'))).toHaveLength(1);
});

test.each<[name: string, NodeJS.Platform, env: Record<string, string>, directory: string]>([
  ['macOS', 'darwin', {}, join(homedir(), 'Library', 'Application Support', 'Inglenook')],
  ['Windows', 'win32', { APPDATA: '/roaming' }, join('/roaming', 'Inglenook')],
  ['Windows without APPDATA', 'win32', {}, join(homedir(), 'AppData', 'Roaming', 'Inglenook')],
  [
    'Windows with an empty APPDATA',
    'win32',
    { APPDATA: '' },
    join(homedir(), 'AppData', 'Roaming', 'Inglenook'),
  ],
  ['Linux', 'linux', {}, join(homedir(), '.local', 'share', 'inglenook')],
  ['Linux with XDG_DATA_HOME', 'linux', { XDG_DATA_HOME: '/xdg' }, '/xdg/inglenook'],
  [
    'Linux with an empty XDG_DATA_HOME',
    'linux',
    { XDG_DATA_HOME: '' },
    join(homedir(), '.local', 'share', 'inglenook'),
  ],
  ['the variable', 'linux', { INGLENOOK_DATA_DIR: '/mine', XDG_DATA_HOME: '/xdg' }, '/mine'],
  ['the variable on macOS', 'darwin', { INGLENOOK_DATA_DIR: '/mine' }, '/mine'],
  ['a relative variable', 'linux', { INGLENOOK_DATA_DIR: 'here' }, resolve('here')],
  [
    'a blank variable',
    'linux',
    { INGLENOOK_DATA_DIR: ' ' },
    join(homedir(), '.local', 'share', 'inglenook'),
  ],
])('the data directory by %s is the one documented', (_title, platform, env, directory) => {
  expect(dataDirectory(env, platform)).toBe(directory);
});

test.each<[NodeJS.Platform, Record<string, string>, string | null]>([
  ['win32', { LOCALAPPDATA: 'C:/Local' }, join('C:/Local', 'Inglenook')],
  ['win32', { LOCALAPPDATA: 'C:/Local', INGLENOOK_DATA_DIR: 'D:/data' }, null],
  ['win32', {}, null],
  ['linux', { LOCALAPPDATA: 'C:/Local' }, null],
])('the window’s caches on %s with %o do not roam with the data directory', (...given) => {
  const [platform, env, directory] = given;
  expect(cacheDirectory(env, platform)).toBe(directory);
});

test.runIf(process.platform !== 'win32').each<NodeJS.Platform>(['linux', 'darwin'])(
  'an empty HOME is as good as unset: the data directory stays in the home of the user (%s)',
  (platform) => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('HOME', '');
    expect(dataDirectory({}, platform).startsWith(`${userInfo().homedir}/`)).toBe(true);
  },
);
