import { expect, test } from 'vitest';
import { loadConfig, type LoadedConfig } from '../../main/config/load.ts';
import { ENTRIES, valueAt } from '../../main/config/schema.ts';
import type { SettingsTree } from '../../main/config/settings-file.ts';
import { settingsView } from '../../main/config/live-config.ts';
import { asVariables, loadedOf } from '../support/config.ts';

const loaded = (values: Record<string, string>, file: SettingsTree = {}) =>
  loadedOf(asVariables(values), file);

function problems(values: Record<string, string>): readonly string[] {
  const result = loadConfig(asVariables(values), {});
  return result.kind === 'refused' ? result.problems : [];
}

/** One value by its variable. */
function valueOf({ config }: LoadedConfig, name: string): unknown {
  const entry = ENTRIES.find(({ variable }) => variable === `INGLENOOK_${name}`);
  return entry && valueAt(config, entry);
}

const REMOTES = ['HOSTED_A', 'HOSTED_B', 'HOSTED_C', 'ONDEMAND'];
const each = (suffix: string) => REMOTES.map((prefix) => `${prefix}_${suffix}`);

/** Every variable by its kind, with texts that it takes and texts that it does not. */
const KINDS: {
  names: string[];
  /** Values by the texts that stand for them. */
  good: Record<string, unknown>;
  bad: string[];
  allowed: RegExp;
}[] = [
  {
    names: ['FAIL_THRESHOLD', 'TTFT_SLOW_THRESHOLD', 'MAX_CONCURRENT_REQUESTS'],
    good: { '1': 1, '1000000': 1_000_000, ' 7 ': 7 },
    bad: ['0', '1000001', '-1', '1.5', 'five', '1e3', '0x10', '5,5', 'NaN', 'Infinity', '+5', '١'],
    allowed: /whole number from 1 to 1000000\b/,
  },
  {
    names: [
      'LOCAL_TIMEOUT_MS',
      ...each('TIMEOUT_MS'),
      'COOLDOWN_MS',
      'TTFT_THRESHOLD_MS',
      'IDLE_TIMEOUT_MS',
      'RETRY_AFTER_MAX_MS',
      'HEARTBEAT_MS',
    ],
    good: { '1': 1, '86400000': 86_400_000 },
    bad: ['0', '86400001', '30s', '-1', '0.5', '5 000'],
    allowed: /whole number from 1 to 86400000 \(milliseconds\)/,
  },
  {
    names: ['KEEP_ALIVE_MS'],
    good: { '0': 0, '86400000': 86_400_000 },
    bad: ['86400001', '-1', '0.5'],
    allowed: /whole number from 0 to 86400000 \(milliseconds; 0: never\)/,
  },
  {
    names: ['PORT'],
    good: { '0': 0, '65535': 65_535 },
    bad: ['65536', '-1', 'http', '80.5', '47900,47901'],
    allowed: /from 0 to 65535/,
  },
  {
    names: ['AGENT_PORTS'],
    good: { '0': [0], '3001, 47901': [3001, 47901] },
    bad: ['65536', '3001;47901', ',', '3001,x'],
    allowed: /ports from 0 to 65535, separated by commas/,
  },
  {
    names: ['MAX_BODY_BYTES', 'MAX_BODIES_IN_FLIGHT_BYTES'],
    good: { '1': 1 },
    bad: ['0', '32M', '-1'],
    allowed: /whole number from 1 to \d+ \(bytes\)/,
  },
  {
    names: [
      'ELECTRICITY_PRICE_KWH',
      ...each('PRICE_INPUT'),
      ...each('PRICE_OUTPUT'),
      ...each('PRICE_CACHED'),
      ...each('BUDGET_DAY'),
      ...each('BUDGET_MONTH'),
    ],
    good: { '0': 0, '2.5': 2.5 },
    bad: ['-1', '2,5', 'free', '1000001'],
    allowed: /number from 0 to 1000000/,
  },
  {
    names: [
      ...each('ASSEMBLE'),
      'ONDEMAND_WARMUP',
      'FORCE_ZERO',
      'HEALTH_CHECKS',
      'AGENT',
      'AGENT_ONLY_WHEN_IDLE',
      'AGENT_NOT_ON_BATTERY',
      'AGENT_YIELD_TO_OTHERS',
      'AGENT_FREE_MEMORY',
    ],
    good: { true: true, TRUE: true, '1': true, false: false, '0': false },
    bad: ['yes', 'on', '2', 'constructor', 'null'],
    allowed: /true or false/,
  },
  {
    names: [...each('MODEL'), ...each('LABEL'), 'AGENT_HOST', 'REGION', 'CURRENCY'],
    good: { 'any words – ümlauts too': 'any words – ümlauts too' },
    bad: ['two\nlines', 'x'.repeat(1001), 'bell\u0007'],
    allowed: /text of 1 to 1000 characters without control characters/,
  },
  {
    names: [...each('API_KEY'), 'ENGINE_API_KEY', 'ENROLL_TOKEN'],
    good: { 'sk-1234': 'sk-1234' },
    bad: ['two words', 'two\nlines', 'ключ', 'k'.repeat(4097)],
    allowed: /visible ASCII characters without spaces/,
  },
  {
    names: ['API_KEYS'],
    good: {
      '0123456789abcdef': ['0123456789abcdef'],
      [`${'a'.repeat(16)} , ${'b'.repeat(16)},`]: ['a'.repeat(16), 'b'.repeat(16)],
    },
    bad: ['short', `${'a'.repeat(16)},short`, `${'a'.repeat(16)} ${'b'.repeat(16)}`],
    allowed: /at least 16 visible ASCII characters, separated by commas/,
  },
  {
    names: ['LOCAL_ENGINE_URL', ...each('BASE_URL')],
    good: {
      'http://127.0.0.1:11434': 'http://127.0.0.1:11434',
      'https://user:p%40ss@api.example.com/v1/?v=2': 'https://user:p%40ss@api.example.com/v1/?v=2',
      'http://[::1]:8080/v1': 'http://[::1]:8080/v1',
      '127.0.0.1:9': 'http://127.0.0.1:9',
    },
    bad: [
      'engine',
      'ftp://h/',
      'file:///etc/passwd',
      'http://',
      'http:/h',
      'http://h:99999',
      'http://h/#part',
      'http://us%zz:pw@h/',
      'http://us:p%ff@h/',
      // Only together they are an encoding.
      'http://me%4:1b@h/',
      'see http://h/',
    ],
    allowed: /http:\/\/ or https:\/\/ address/,
  },
  {
    names: ['ENGINE_URL'],
    good: { 'http://user:pw@127.0.0.1:8080/v1': 'http://user:pw@127.0.0.1:8080/v1' },
    bad: ['engine', 'http://127.0.0.1:8080/?key=1', 'http://us%zz:pw@h/'],
    allowed: /address without a query/,
  },
  {
    names: ['REGISTRY_URL'],
    good: { 'https://gw.lan/': 'https://gw.lan/', 'gw.lan:47900': 'http://gw.lan:47900' },
    bad: ['gateway', 'http://gw.lan/path', 'http://me@gw.lan', 'http://gw.lan/?a=1'],
    allowed: /address without a path/,
  },
  {
    names: ['POOL_SECRET'],
    good: { ['AB'.repeat(32)]: 'ab'.repeat(32) },
    bad: ['a1'.repeat(31), `${'a1'.repeat(31)}g1`, `${'a1'.repeat(32)}0`],
    allowed: /64 hexadecimal digits/,
  },
  {
    names: ['DATABASE_URL'],
    good: {
      'postgres://u:p%40ss@db.lan:5433/pool': 'postgres://u:p%40ss@db.lan:5433/pool',
      'postgresql://db.lan/pool?sslmode=verify-full':
        'postgresql://db.lan/pool?sslmode=verify-full',
    },
    bad: [
      'db.lan/pool',
      'mysql://db.lan/pool',
      'postgres://db.lan',
      'postgres://db.lan/',
      'postgres:///pool',
      'postgres://u:p%zz@db.lan/pool',
      'postgres://u%4:1b@db.lan/pool',
      'postgres://u:p%4@db.lan/1pool%',
      'postgres://db.lan/a/b',
      'postgres://db.lan/pool#part',
    ],
    allowed: /postgres:\/\/ address/,
  },
  {
    names: ['ALLOWED_HOSTS'],
    good: { 'gpu.lan, [fd00::2]': ['gpu.lan', '[fd00::2]'], ',': [] },
    bad: ['http://gpu.lan', 'gpu lan', '*'],
    allowed: /host names, separated by commas/,
  },
  {
    names: ['HOSTED_A_MODELS', 'HOSTED_B_MODELS', 'HOSTED_C_MODELS', 'ONDEMAND_MODELS'],
    good: { 'gpt-4o, org/llama:8b': ['gpt-4o', 'org/llama:8b'] },
    bad: ['a b', 'a=b', 'x'.repeat(201)],
    allowed: /model IDs/,
  },
  {
    names: ['MODEL_ALIASES'],
    good: {
      'fast=llama-3.1-8b, smart=org/gpt:4o': ['fast=llama-3.1-8b', 'smart=org/gpt:4o'],
      'claude-*haiku*=qwen3-4b, *=qwen3': ['claude-*haiku*=qwen3-4b', '*=qwen3'],
    },
    bad: ['fast', '=a', 'a=', 'a=b=c', 'a=b,a=c', 'a b=c', 'gpt-*=*'],
    allowed: /name=model/,
  },
  {
    names: ['OTHER_REGISTRY_URLS', 'POOL_ADDRESSES'],
    good: {
      '192.168.1.10:47900, https://gw.lan/': ['http://192.168.1.10:47900', 'https://gw.lan/'],
    },
    bad: ['gateway', 'ftp://gw.lan', 'http://gw.lan/path', 'http://a.lan,b'],
    allowed: /addresses such as http:/,
  },
  {
    names: ['ALLOWED_ORIGINS'],
    good: {
      'https://chat.example.com,null,app://obsidian.md': [
        'https://chat.example.com',
        'null',
        'app://obsidian.md',
      ],
      'http://localhost:*,capacitor://*,file://': [
        'http://localhost:*',
        'capacitor://*',
        'file://',
      ],
    },
    bad: [
      '*',
      'chat.example.com',
      'https://chat.example.com/',
      'https://a b',
      'https://*',
      'http://*:80',
      'https://*.example.com',
      'https://',
    ],
    allowed: /page origins such as/,
  },
  {
    names: each('HEADERS'),
    good: { '{"X-Team":"blue"}': { 'X-Team': 'blue' }, '{}': {} },
    bad: [
      'X-Team: blue',
      '["X-Team"]',
      '"X-Team"',
      '{"X-Team":5}',
      '{"X Team":"blue"}',
      '{"X-Team":"two\\nlines"}',
      '{"":"blue"}',
      '{"Host":"evil"}',
      '{"content-length":"5"}',
      '{"Transfer-Encoding":"chunked"}',
    ],
    allowed: /JSON object of header names and values/,
  },
  {
    names: ['AGENT_MAX_GPU_TEMPERATURE_C'],
    good: { '30': 30, '120': 120 },
    bad: ['29', '121', '80.5', 'hot'],
    allowed: /30 to 120/,
  },
  {
    names: ['AGENT_IDLE_UNLOAD_MIN'],
    good: { '30': 30, '0.5': 0.5, '10080': 10_080 },
    bad: ['0', '-1', '10081', '30m', 'never'],
    allowed: /number of minutes above 0, up to 10080 \(a week\)/,
  },
];

/** Variables that take one of a few words. */
const WORDS: readonly (readonly [names: string[], words: string])[] = [
  [['AFFINITY'], 'auto, off'],
  [['HEDGE'], 'own, all, off'],
  [['MODEL_FALLBACK'], 'any, same'],
  [['RESUME'], 'same-model, any, off'],
  [['RESCUE_TOOL_CALLS'], 'on, off'],
  [['LOG_LEVEL'], 'error, warn, info, debug'],
  [['LOG_TO'], 'auto, file, stderr, stdout'],
  [['LOG_FORMAT'], 'auto, text, json'],
  [[...each('PROTOCOLS'), 'LOCAL_PROTOCOLS'], 'auto, native, chat'],
  [
    [...each('PREFILL'), 'LOCAL_PREFILL'],
    'auto, none, last-message, continue_final_message, prefix',
  ],
];

for (const [names, words] of WORDS)
  KINDS.push({
    names,
    good: Object.fromEntries(words.split(', ').map((word) => [word, word])),
    bad: [words, words.toUpperCase(), 'true', 'none_'],
    allowed: new RegExp(`one of ${words}$`),
  });

const OTHER_SECRETS = ['ENGINE_API_KEY', 'ENROLL_TOKEN', 'API_KEYS', 'POOL_SECRET'];
const SECRETS = new Set([...each('API_KEY'), ...each('HEADERS'), ...OTHER_SECRETS]);

test('every variable has good and bad values in these tests', () => {
  // HOST is text like AGENT_HOST, with a test of its own below.
  const here = [...KINDS.flatMap(({ names }) => names), 'HOST'];
  const variables = here.map((name) => `INGLENOOK_${name}`);
  expect(variables.toSorted()).toEqual(ENTRIES.map(({ variable }) => variable).toSorted());
});

test.each(KINDS.flatMap(({ names, good }) => names.map((name) => [name, good] as const)))(
  'the variable %s takes each kind of value that it may have',
  (name, good) => {
    for (const [text, value] of Object.entries(good)) {
      const result = loaded({ [name]: text });
      expect([text, valueOf(result, name)]).toEqual([text, value]);
      const path = ENTRIES.find(({ variable }) => variable === `INGLENOOK_${name}`)?.path ?? '';
      expect(result.sources.get(path)).toBe('env');
    }
  },
);

test.each(KINDS.flatMap(({ names, ...kind }) => names.map((name) => [name, kind] as const)))(
  'the variable %s with a bad value refuses the start, naming itself, the value and what is allowed',
  (name, { bad, allowed }) => {
    for (const text of bad) {
      const found = problems({ [name]: text });
      // What is left of a value that may hold a secret has tests of its own below.
      const shown = SECRETS.has(name) || /[@?]/.test(text) ? '' : `"${text}" `;
      expect([text, ...found]).toEqual([
        text,
        expect.stringMatching(new RegExp(`^INGLENOOK_${name} is ".*" but must be `, 's')),
      ]);
      expect(found[0]).toMatch(allowed);
      expect(found[0]).toContain(shown);
    }
  },
);

test.each<[title: string, name: string, text: string, shown: string]>([
  ['a short key', 'HOSTED_A_API_KEY', 'short key', '…'],
  ['a key of 19 characters', 'HOSTED_A_API_KEY', `${'k'.repeat(9)} ${'k'.repeat(9)}`, '…'],
  ['a key of 20', 'HOSTED_A_API_KEY', `abc${'k'.repeat(8)} ${'k'.repeat(4)}wxyz`, 'abc…wxyz'],
  ['headers', 'HOSTED_A_HEADERS', 'X-Secret: hunter2-and-much-more', '…'],
  ['headers as JSON', 'HOSTED_A_HEADERS', '{"X Bad":"hunter2-and-much-more"}', '…'],
  ['a list with one short key', 'API_KEYS', `abc${'k'.repeat(20)}wxyz,hunter2`, 'abc…wxyz,…'],
])('the secret in %s is masked in a problem', (_title, name, text, shown) => {
  expect(problems({ [name]: text })[0]).toContain(`is "${shown}" but`);
});

test.each([
  'ftp://user:hunter2@host',
  'user:hunter2@host/v1',
  'http//user:hunter2@host/v1',
  'http://user:pa/hunter2@host',
  'http://user:pa@hunter2@host:99999',
  'http://user:pa?hunter2@host',
  'http://user:pa#hunter2@host',
  'http://host:99999/v1?key=hunter2',
  'http://host/v1?key=hunter2#part',
  'http://host/v1?a=b\n&key=hunter2#part',
])('the secret in the mistyped address %j is masked', (text) => {
  const [problem] = problems({ HOSTED_A_BASE_URL: text });
  expect(problem).toContain('INGLENOOK_HOSTED_A_BASE_URL is "');
  expect(problem).not.toContain('hunter2');
});

test('the database password is kept with the secrets and shown nowhere', () => {
  const { config, sources } = loaded({
    DATABASE_URL: 'postgres://us:hunter2@db.lan:5433/pool?password=hunter2',
  });
  const shown = settingsView(config, sources)['gateway']?.['databaseUrl'];
  expect(shown).toMatchObject({ value: 'postgres://…@db.lan:5433/pool?…', secret: true });
  for (const text of ['postgres://us:hunter2@db.lan', 'postgres:/us:hunter2@db.lan/x'])
    expect(problems({ DATABASE_URL: text }).join()).toMatch(/^(?!.*hunter2).*DATABASE_URL/);
});

test('the environment wins over the file, and the file over the default; an empty variable and a null are none', () => {
  const file = { circuit: { failThreshold: 7, cooldownMs: 8, ttftThresholdMs: null } };
  const { config, sources } = loaded({ FAIL_THRESHOLD: '9', COOLDOWN_MS: '' }, file);
  expect(config.circuit).toMatchObject({ failThreshold: 9, cooldownMs: 8, ttftThresholdMs: 5000 });
  expect(sources.get('circuit.failThreshold')).toBe('env');
  expect(sources.get('circuit.cooldownMs')).toBe('file');
  expect(sources.get('circuit.ttftThresholdMs')).toBe('default');
});

test('unknown variables bring a warning with the name and never the value, and never fail', () => {
  const { warnings } = loaded({
    FAIL_TRESHOLD: 'hunter2',
    HOSTED_D_API_KEY: 'hunter2',
    DATA_DIR: '/x',
  });
  expect(warnings).toEqual([
    expect.stringContaining('INGLENOOK_FAIL_TRESHOLD'),
    expect.stringContaining('INGLENOOK_HOSTED_D_API_KEY'),
  ]);
  expect(warnings.join()).not.toContain('hunter2');
});

test.each(['0.0.0.0', '::', '192.168.1.5', 'gpu.lan', '127.0.0.1.evil.example'])(
  'the HOST %s without keys refuses the start and says how to make one, and starts with a key',
  (host) => {
    const [problem, ...more] = problems({ HOST: host });
    expect(more).toEqual([]);
    expect(problem).toContain(`INGLENOOK_HOST is "${host}"`);
    expect(problem).toContain('INGLENOOK_API_KEYS');
    expect(problem).toContain('openssl rand -hex 24');
    expect(problems({ HOST: host, API_KEYS: 'k'.repeat(16) })).toEqual([]);
  },
);

test.each(['127.0.0.1', '127.8.9.10', 'localhost', '::1'])('the HOST %s needs no key', (host) => {
  expect(problems({ HOST: host })).toEqual([]);
});
