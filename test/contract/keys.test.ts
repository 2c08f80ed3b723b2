import { readFileSync, rmSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { KeyList } from '#shared/keys.ts';
import { readKeyFile } from '../../main/config/key-file.ts';
import { loadConfig } from '../../main/config/load.ts';
import { createKeptLog } from '../support/log.ts';
import { HELLO } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { readFeed } from '../support/feed.ts';
import { readExposition } from '../support/exposition.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { bearer, expectError, postJson, send } from '../support/http.ts';
import { answers } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const CHAT = '/v1/chat/completions';
const KEYS = '/api/v1/keys';

/** A gateway over one upstream, its owner, and the lines of its log. */
async function started(settings: Record<string, string> = {}) {
  const { log, lines } = createKeptLog();
  const clock = createManualClock();
  const { gateway, local } = await startBefore({ local: answers('hi') }, settings, clock, log);
  const { url, call, post, read } = gateway;
  return {
    ...gateway,
    upstream: local,
    lines,
    clock,
    add: (name: unknown) => post('keys', { name }),
    revoke: (name: string) => call('DELETE', `keys/${name}`),
    list: () => read<KeyList>('keys'),
    chat: (headers: Record<string, string> = {}) => postJson(url + CHAT, HELLO, headers),
  };
}

test('a key opens chat and reading from its creation to its revocation, and nothing else', async () => {
  const { url, key, revoke, chat } = await started();
  expect((await chat()).status).toBe(200);
  const laptop = await key('laptop');
  const phone = await key('phone');
  expectError(await chat(), 401, 'missing_api_key');
  expectError(await chat(bearer(`${laptop}0`)), 401, 'invalid_api_key');
  for (const headers of [bearer(laptop), { 'x-api-key': laptop }, { 'x-gateway-key': phone }]) {
    expect((await chat(headers)).status).toBe(200);
    expect((await send(`${url}/v1/models`, { headers })).status).toBe(200);
    expectError(await send(url + KEYS, { headers }), 401, 'control_required');
  }
  expect((await revoke('laptop')).status).toBe(200);
  expectError(await chat(bearer(laptop)), 401, 'invalid_api_key');
  expect((await chat(bearer(phone))).status).toBe(200);
});

test('a live feed ends with the key of its reader, and with the first key if it had none', async () => {
  const { url, key, revoke, clock } = await started();
  const keyless = await readFeed(url);
  const laptop = await key('laptop');
  clock.advance(1000);
  await keyless.ended;
  await key('phone');
  const reader = await readFeed(url, bearer(laptop));
  await revoke('laptop');
  clock.advance(1000);
  await reader.ended;
  expect([keyless.events, reader.events].map(({ length }) => length)).toEqual([1, 1]);
});

test('the keys of API_KEYS work alongside those with names, and record, log line and metrics of a request name its key, and never show it', async () => {
  const world = await started({ API_KEYS: 'first-key-of-1234,second-key-of-12' });
  const laptop = await world.key('laptop');
  const used = [bearer(laptop), bearer('second-key-of-12'), { 'x-api-key': laptop }, world.control];
  for (const headers of used) expect((await world.chat(headers)).status).toBe(200);
  expect(await world.list()).toMatchObject({ keys: [{ name: 'laptop' }], unnamed: 2 });
  const names = ['laptop', 'key 2', 'laptop', null];
  const { requests } = world.host.snapshot();
  expect(requests.map(({ key }) => key)).toEqual(names.toReversed());
  const logged = world.lines.filter((line) => line.startsWith('request '));
  expect(logged.map((line) => /"key":"([^"]+)"/.exec(line)?.[1] ?? null)).toEqual(names);
  const metrics = await send(`${world.url}/metrics`, { headers: world.control });
  const { series } = readExposition(metrics.text).get('inglenook_key_requests_total') ?? {};
  expect(series?.get('{"key":"laptop"}')).toBe(2);
  expect(series?.get('{"key":"key 2"}')).toBe(1);
  expect(series?.size).toBe(2);
  expect(world.lines.join() + metrics.text + JSON.stringify(requests)).not.toContain(laptop);
  await world.revoke('laptop');
  expectError(await world.chat(), 401, 'missing_api_key');
});

test.skipIf(process.platform === 'win32')(
  'the file of keys holds digests only, for its owner alone',
  async () => {
    const { key, dataDirectory } = await started();
    const laptop = await key('laptop');
    const path = join(dataDirectory, 'keys.json');
    expect(readFileSync(path, 'utf8')).not.toContain(laptop.slice(3));
    expect(readFileSync(path, 'utf8')).toContain('laptop');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  },
);

test('the list of keys says when each was created and last used', async () => {
  const { key, chat, list, clock } = await started();
  const createdAt = new Date(clock.now()).toISOString();
  const laptop = await key('laptop');
  expect((await list()).keys).toEqual([
    { name: 'laptop', createdAt, lastUsedAt: null, limits: [] },
  ]);
  clock.advance(60_000);
  await chat(bearer(laptop));
  const lastUsedAt = new Date(clock.now()).toISOString();
  expect((await list()).keys).toEqual([{ name: 'laptop', createdAt, lastUsedAt, limits: [] }]);
});

test.each([undefined, null, 7, '', 'key 1', '-x', 'a/b', 'ü', 'x'.repeat(65), '<b>', 'a\nb'])(
  'a key cannot be called %j',
  async (name) => {
    const { add, list, chat } = await started();
    expect(expectError(await add(name), 400, 'invalid_request')).toContain("'name'");
    expect((await list()).keys).toEqual([]);
    expect((await chat()).status).toBe(200);
  },
);

const NO_LIMITS = [
  7,
  [],
  { requestsHour: 5 },
  ...[0, -1, 1.5, '5', true, 2_000_000_000_000].map((limit) => ({ tokensDay: limit })),
];

test('the limit of a key is a whole number of requests or tokens for a day or a month', async () => {
  const { key, call, post, list } = await started();
  await key('laptop');
  const patch = (name: string, limits: unknown) => call('PATCH', `keys/${name}`, { limits });
  for (const limits of NO_LIMITS) {
    const added = await post('keys', { name: 'phone', limits });
    for (const refusal of [await patch('laptop', limits), added]) {
      expect(expectError(refusal, 400, 'invalid_request')).toContain("'limits'");
    }
  }
  expectError(await patch('phone', { tokensDay: 5 }), 404, 'not_found');
  expect(await list()).toMatchObject({ keys: [{ name: 'laptop', limits: [] }] });
});

test('a name of a key is given once, and an unknown one is not revoked', async () => {
  const { key, add, revoke, chat } = await started();
  const laptop = await key('laptop');
  expectError(await add('laptop'), 409, 'key_exists');
  expectError(await revoke('phone'), 404, 'not_found');
  expect((await chat(bearer(laptop))).status).toBe(200);
});

test('the number of keys is at most a hundred', async () => {
  const { add } = await started();
  for (let n = 0; n < 100; n += 1) expect((await add(`key-${n}`)).status).toBe(201);
  expect(expectError(await add('one-more'), 409, 'too_many_keys')).toContain('100');
});

test('a key that cannot be written does not exist, and one that cannot be removed stays valid', async () => {
  const { key, add, revoke, chat, dataDirectory } = await started();
  const laptop = await key('laptop');
  const path = join(dataDirectory, 'keys.json');
  rmSync(path);
  mkdirSync(join(path, 'in-the-way'), { recursive: true });
  expectError(await add('phone'), 500, 'settings_unwritten');
  expectError(await revoke('laptop'), 500, 'settings_unwritten');
  expect((await chat(bearer(laptop))).status).toBe(200);
});

test('a named key is enough to start beyond loopback', () => {
  const env = { INGLENOOK_HOST: '0.0.0.0', INGLENOOK_PORT: '0' };
  expect(loadConfig(env, {})).toMatchObject({ kind: 'refused' });
  const stored = { name: 'laptop', digest: 'a'.repeat(64), createdAt: 0, limits: {} };
  expect(loadConfig(env, {}, { kind: 'keys', keys: [stored] }).kind).toBe('loaded');
});

const UNKNOWN_LIMIT = { name: 'a', digest: 'a'.repeat(64), createdAt: 0, limits: { euros: 5 } };

test.each([
  JSON.stringify({ version: 1, keys: [UNKNOWN_LIMIT] }),
  '',
  '{}',
  '[]',
  '{"version":1,"keys":[{"name":"a/b"}]}',
  '{"version":2,"keys":[]}',
])('a file of keys that holds %j refuses the start instead of opening the gateway', (text) => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'keys.json'), text);
  const loaded = loadConfig({}, {}, readKeyFile(directory));
  const problems = [expect.stringContaining('keys.json')];
  expect(loaded).toEqual({ kind: 'refused', problems });
});
