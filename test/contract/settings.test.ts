import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadedOf } from '../support/config.ts';
import { ENTRIES } from '../../main/config/schema.ts';
import { readSettings, setBadAside } from '../../main/config/settings-file.ts';
import { chat, HELLO } from '../support/client.ts';
import { type Controlled, startControlled } from '../support/control.ts';
import { bearer, expectError } from '../support/http.ts';
import { answers, error } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const KEY = 'sk-0123456789-0123456789-wxyz';
const NOWHERE = 'http://127.0.0.1:9';

const fileOf = (gateway: Controlled, name: string): unknown =>
  JSON.parse(readFileSync(join(gateway.dataDirectory, name), 'utf8'));

/** What the next start would make of the data directory. */
function afterRestart({ dataDirectory }: Controlled) {
  const { tree, files } = readSettings(dataDirectory);
  expect(setBadAside(files, '', 0)).toEqual([]);
  return loadedOf({}, tree).config;
}

/** Holds that a refused change changed nothing: neither what is in force nor what is on disk. */
async function expectUntouched(gateway: Controlled, change: () => Promise<void>): Promise<void> {
  const files = () =>
    readdirSync(gateway.dataDirectory)
      .filter((name) => /^(settings|secrets)\.json$/.test(name))
      .map((name) => [name, readFileSync(join(gateway.dataDirectory, name), 'utf8')]);
  const before = [await gateway.settings(), files()];
  await change();
  expect([await gateway.settings(), files()]).toEqual(before);
}

test('every setting is shown once with its value and where it comes from', async () => {
  const gateway = await startControlled({ HOSTED_A_MODEL: 'big', HOSTED_A_ASSEMBLE: 'false' });
  const settings = await gateway.set({ circuit: { failThreshold: 2 } });
  const shown = Object.entries(settings).flatMap(([section, keys]) =>
    Object.keys(keys).map((key) => `${section}.${key}`),
  );
  expect(shown).toEqual(ENTRIES.map(({ path }) => path));
  expect(settings['hosted_a']).toMatchObject({
    model: { value: 'big', source: 'env' },
    assemble: { value: false, source: 'env' },
    timeoutMs: { value: 30_000, source: 'default' },
    baseUrl: { value: null, source: 'default' },
  });
  expect(settings['circuit']).toMatchObject({
    failThreshold: { value: 2, source: 'file' },
    cooldownMs: { value: 60_000, source: 'default' },
  });
});

test('every setting comes with its variable, kind, default, limits and meaning', async () => {
  const settings = await (await startControlled({})).settings();
  expect(settings['circuit']?.['cooldownMs']).toEqual({
    value: 60_000,
    source: 'default',
    env: 'INGLENOOK_COOLDOWN_MS',
    kind: 'milliseconds',
    default: 60_000,
    allowed: 'a whole number from 1 to 86400000 (milliseconds)',
    meaning: expect.stringMatching(/\.$/),
  });
  expect(settings).toMatchObject({
    hosted_a: { apiKey: { kind: 'secret', secret: true, default: null } },
    gateway: { port: { kind: 'port', restart: true } },
  });
  for (const { path, variable, setting } of ENTRIES) {
    const [section = '', key = ''] = path.split('.');
    const shown = settings[section]?.[key];
    expect(shown).toMatchObject({ env: variable, kind: setting.kind.name });
    expect(shown?.meaning).toMatch(/^[A-Z0-9].*\.$/);
    expect(setting.kind.schema.safeParse(shown?.choices?.at(-1)?.value).success).toBe(
      shown?.kind === 'choice',
    );
    for (const { meaning } of shown?.choices ?? []) expect(meaning).toMatch(/\.$/);
  }
});

test('a secret setting is written and never read back', async () => {
  const gateway = await startControlled({});
  const settings = await gateway.set({
    hosted_a: {
      baseUrl: 'https://user:hunter2@api.example.com/v1?key=hunter2',
      apiKey: KEY,
      headers: { 'X-Team': 'hunter2' },
    },
    hosted_b: { apiKey: 'short-hunter2' },
    gateway: { apiKeys: [KEY] },
  });
  expect(settings).toMatchObject({
    hosted_a: {
      baseUrl: { value: 'https://…@api.example.com/v1?…' },
      apiKey: { value: 'sk-…wxyz', source: 'file' },
      headers: { value: { 'X-Team': '…' } },
    },
    hosted_b: { apiKey: { value: '…' } },
    gateway: { apiKeys: { value: ['sk-…wxyz'] } },
  });
  expect(JSON.stringify([settings, await gateway.settings()])).not.toMatch(/hunter2|0123456789/);
});

test('secrets go to secrets.json alone, everything else to settings.json, both for the owner alone', async () => {
  const gateway = await startControlled({});
  await gateway.set({
    hosted_a: { baseUrl: NOWHERE, apiKey: KEY, headers: { 'X-Team': 'blue' } },
    routing: { forceZero: true },
  });
  expect(fileOf(gateway, 'settings.json')).toEqual({
    hosted_a: { baseUrl: NOWHERE },
    routing: { forceZero: true },
  });
  expect(fileOf(gateway, 'secrets.json')).toEqual({
    hosted_a: { apiKey: KEY, headers: { 'X-Team': 'blue' } },
  });
  for (const name of ['settings.json', 'secrets.json']) {
    expect(statSync(join(gateway.dataDirectory, name)).mode & 0o777).toBe(0o600);
  }
  expect(readdirSync(gateway.dataDirectory).filter((name) => name.endsWith('.new'))).toEqual([]);
  expect(afterRestart(gateway)).toMatchObject({
    hosted_a: { baseUrl: NOWHERE, apiKey: KEY, headers: { 'X-Team': 'blue' } },
    routing: { forceZero: true },
  });
});

test('unknown entries of the files are kept', async () => {
  const gateway = await startControlled({});
  const file = join(gateway.dataDirectory, 'settings.json');
  writeFileSync(file, '{"future":{"a":1},"circuit":{"newer":[2],"cooldownMs":7}}');
  await gateway.set({ circuit: { failThreshold: 2 } });
  expect(fileOf(gateway, 'settings.json')).toEqual({
    future: { a: 1 },
    circuit: { newer: [2], cooldownMs: 7, failThreshold: 2 },
  });
});

test('a value that the environment holds is a 409 that names it, and nothing of the patch is applied', async () => {
  const gateway = await startControlled({ HOSTED_A_MODEL: 'big' });
  await expectUntouched(gateway, async () => {
    const answer = await gateway.patch({
      circuit: { failThreshold: 2 },
      hosted_a: { model: 'small', apiKey: KEY },
    });
    const message = expectError(answer, 409, 'set_by_environment', 'hosted_a.model');
    expect(message).toContain('INGLENOOK_HOSTED_A_MODEL');
  });
});

test.each<[path: string, tree: unknown, allowed: string]>([
  ['circuit.failThreshold', { circuit: { failThreshold: 0 } }, '1 to 1000000'],
  ['circuit.cooldownMs', { circuit: { cooldownMs: '60000' } }, 'whole number'],
  ['routing.forceZero', { routing: { forceZero: 1 } }, 'true or false'],
  ['routing.hedge', { routing: { hedge: 'some' } }, 'own, all, off'],
  ['hosted_a.baseUrl', { hosted_a: { baseUrl: 'ftp://hunter2' } }, 'http:// or https://'],
  ['hosted_a.apiKey', { hosted_a: { apiKey: 'two hunter2' } }, 'visible ASCII'],
  ['hosted_a.headers', { hosted_a: { headers: { Host: 'hunter2' } } }, 'framing headers'],
  ['gateway.apiKeys', { gateway: { apiKeys: ['hunter2'] } }, 'at least 16'],
  ['hosted_a.nonsense', { hosted_a: { nonsense: 1 } }, 'no setting'],
  ['nowhere.model', { nowhere: { model: 'x' } }, 'no setting'],
  ['constructor.name', { constructor: { name: 'x' } }, 'no setting'],
  ['nowhere', { nowhere: {} }, 'no section'],
  ['circuit', { circuit: 5 }, 'object'],
])(
  'a value of %s that is not allowed is a 400 that says what is, and nothing changes',
  async (path, tree, allowed) => {
    const gateway = await startControlled({});
    await expectUntouched(gateway, async () => {
      const answer = await gateway.patch({ ondemand: { warmup: false }, ...(tree as object) });
      const message = expectError(answer, 400, 'invalid_request', path);
      for (const words of [path, allowed]) expect(message).toContain(words);
      expect(message).not.toContain('hunter2');
    });
  },
);

test.each([[], 5, 'text'])('the body %j is refused as settings', async (tree) => {
  const gateway = await startControlled({});
  await expectUntouched(gateway, async () => {
    const message = expectError(await gateway.patch(tree), 400, 'invalid_request');
    expect(message).toMatch(/object of sections|valid JSON/);
  });
});

/** What stands in the way of writing; as root the mode of a directory does not. */
const OBSTACLES: readonly (readonly [string, (directory: string) => void])[] = [
  ['a draft that cannot be made', (dir) => mkdirSync(join(dir, 'settings.json.new'))],
  ['a file broken by hand', (dir) => writeFileSync(join(dir, 'settings.json'), '{"a":')],
  ...(process.getuid?.() === 0
    ? []
    : [['a directory that is read-only', (dir: string) => chmodSync(dir, 0o500)] as const]),
];

test.each(OBSTACLES)(
  'a change with %s is a 500, and neither file nor value changes',
  async (_, obstruct) => {
    const gateway = await startControlled({});
    await gateway.set({ hosted_b: { apiKey: KEY } });
    obstruct(gateway.dataDirectory);
    onTestFinished(() => chmodSync(gateway.dataDirectory, 0o700));
    await expectUntouched(gateway, async () => {
      const tree = { circuit: { failThreshold: 2 }, hosted_a: { apiKey: KEY } };
      const message = expectError(await gateway.patch(tree), 500, 'settings_unwritten');
      expect(message).toContain('could not be written');
      expect(message).not.toContain(KEY);
    });
  },
);

test('no change opens the gateway to the network without a key, or removes the last key of an open gateway', async () => {
  const gateway = await startControlled({});
  const refused = async (tree: unknown) => {
    const message = expectError(await gateway.patch({ gateway: tree }), 400, 'invalid_request');
    expect(message).toContain('INGLENOOK_API_KEYS');
  };
  await expectUntouched(gateway, () => refused({ host: '0.0.0.0' }));
  await gateway.set({ gateway: { host: '0.0.0.0', apiKeys: [KEY] } });
  await expectUntouched(gateway, async () => {
    await refused({ apiKeys: [] });
    await refused({ apiKeys: null });
  });
  await gateway.set({ gateway: { host: null, apiKeys: null } });
});

test('keys apply from the next request on, and so does their absence', async () => {
  const { gateway } = await startBefore({ a: answers('hi') });
  expect((await chat(gateway.url)).status).toBe(200);
  await gateway.set({ gateway: { apiKeys: [KEY] } });
  expect((await chat(gateway.url)).status).toBe(401);
  expect((await chat(gateway.url, HELLO, bearer(KEY))).status).toBe(200);
  expect((await chat(gateway.url, HELLO, bearer(`${KEY}x`))).status).toBe(401);
  await gateway.set({ gateway: { apiKeys: null } });
  expect((await chat(gateway.url)).status).toBe(200);
});

test('a change is one line of the live feed, so that another session’s dashboard sees it', async () => {
  const { gateway } = await startBefore({ a: error(503) });
  await gateway.set({ hosted_a: { label: 'Renamed' }, ondemand: { warmup: false } });
  const { status, app } = gateway.host.snapshot();
  expect(status.upstreams[1]?.label).toBe('Renamed');
  expect(app.warmupEnabled).toBe(false);
});
