import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HOSTED_IDS } from '#shared/ids.ts';
import { ENTRIES } from '../../main/config/schema.ts';
import { readSettings } from '../../main/config/settings-file.ts';
import { chat, expectServed, HELLO } from '../support/client.ts';
import { type Controlled, startControlled } from '../support/control.ts';
import { startIn } from '../support/gateway.ts';
import { expectError } from '../support/http.ts';
import { answers, hang, startUpstream } from '../support/upstream.ts';
import { costly } from '../support/usage.ts';

const KEY = 'sk-0123456789-0123456789-wxyz';
const OTHER_KEY = 'sk-abcdefghij-abcdefghij-wxyz';
const NOWHERE = 'http://127.0.0.1:9/v1';

const swap = (gateway: Controlled, id: string, body: unknown) =>
  gateway.post(`upstreams/${id}/swap`, body);

const onDisk = (gateway: Controlled, name: string) =>
  JSON.parse(readFileSync(join(gateway.dataDirectory, name), 'utf8')) as Record<string, unknown>;

test('two hosted upstreams change places with every setting, their keys among them', async () => {
  const first = await startUpstream(answers('one'));
  const second = await startUpstream(answers('two'));
  const gateway = await startControlled({});
  const every = {
    baseUrl: first.url,
    apiKey: KEY,
    model: 'big',
    models: ['small'],
    label: 'First',
    timeoutMs: 5000,
    headers: { 'x-org': 'acme' },
    assemble: false,
    prefill: 'none',
    protocols: 'chat',
    priceInput: 1,
    priceOutput: 2,
    priceCached: 0.5,
    budgetDay: 3,
    budgetMonth: 30,
  };
  const keys = ENTRIES.filter(({ section }) => section === 'hosted_a').map(({ key }) => key);
  expect(Object.keys(every).toSorted()).toEqual(keys.toSorted());
  await gateway.set({
    hosted_a: every,
    hosted_b: { baseUrl: second.url, apiKey: OTHER_KEY, model: 'other' },
  });
  const before = await gateway.settings();
  const answer = await swap(gateway, 'hosted_a', { with: 'hosted_b' });
  expect(answer.status).toBe(200);
  const after = JSON.parse(answer.text) as typeof before;
  for (const [here, there] of [
    ['hosted_a', 'hosted_b'],
    ['hosted_b', 'hosted_a'],
  ] as const)
    for (const key of keys)
      expect([key, after[here]?.[key]]).toEqual([
        key,
        { ...before[there]?.[key], env: before[here]?.[key]?.env },
      ]);
  expect(answer.text).not.toContain(KEY);
  await chat(gateway.url, HELLO);
  expect(second.calls.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${OTHER_KEY}`]);
  expect(first.calls).toEqual([]);
  const { tree } = readSettings(gateway.dataDirectory);
  expect(tree['hosted_b']).toEqual(every);
  expect(tree['hosted_a']).toEqual({ baseUrl: second.url, apiKey: OTHER_KEY, model: 'other' });
});

test('an upstream moves to an empty place, and its own is empty then', async () => {
  const gateway = await startControlled({});
  await gateway.set({ hosted_a: { baseUrl: NOWHERE, apiKey: KEY } });
  expect((await swap(gateway, 'hosted_a', { with: 'hosted_c' })).status).toBe(200);
  expect(onDisk(gateway, 'secrets.json')).toEqual({ hosted_a: {}, hosted_c: { apiKey: KEY } });
  const settings = { hosted_a: {}, hosted_c: { baseUrl: NOWHERE } };
  expect(onDisk(gateway, 'settings.json')).toEqual(settings);
});

test('a call that ran before a swap does not count against the upstream that is there now', async () => {
  const slow = await startUpstream(hang);
  const sound = await startUpstream(answers('two'));
  const gateway = await startControlled({ FAIL_THRESHOLD: '1' });
  await gateway.set({
    hosted_a: { baseUrl: slow.url, timeoutMs: 60_000 },
    hosted_b: { baseUrl: sound.url },
  });
  const running = chat(gateway.url, HELLO);
  await expect.poll(() => slow.calls.length).toBe(1);
  await swap(gateway, 'hosted_a', { with: 'hosted_b' });
  slow.calls[0]?.socket.destroy();
  expect((await running).status).toBe(200);
  expect((await gateway.status()).circuits['hosted_a']).toMatchObject({ open: false });
});

test('what upstreams have spent goes with them to their new places, and a restart keeps it there', async () => {
  const dear = await startUpstream(costly);
  const cheap = await startUpstream(costly);
  const gateway = await startControlled({});
  const price = { priceOutput: 1000 };
  await gateway.set({
    hosted_a: { baseUrl: dear.url, ...price, budgetDay: 0.5 },
    hosted_b: { baseUrl: cheap.url, ...price, budgetDay: 0.25 },
  });
  for (let n = 0; n < 2; n += 1) await chat(gateway.url, HELLO);
  expect((await swap(gateway, 'hosted_a', { with: 'hosted_b' })).status).toBe(200);
  expectServed(await chat(gateway.url, HELLO), 'hosted_a');
  expect((await chat(gateway.url, HELLO)).reason).toContain('hosted_a=budget; hosted_b=budget');
  await gateway.host.stop();
  const again = await startIn(gateway.dataDirectory, {
    HOSTED_A_BASE_URL: cheap.url,
    HOSTED_A_BUDGET_DAY: '0.25',
    HOSTED_B_BASE_URL: dear.url,
    HOSTED_B_BUDGET_DAY: '0.5',
  });
  const { upstreams } = again.host.snapshot().status;
  expect(upstreams.slice(1, 3).map(({ budget }) => budget?.spent)).toEqual([0.25, 0.5]);
  expect([dear.calls.length, cheap.calls.length]).toEqual([2, 1]);
});

test('a value that the environment holds keeps both upstreams in place, and its variable is named', async () => {
  const gateway = await startControlled({ HOSTED_B_MODEL: 'big' });
  await gateway.set({ hosted_a: { baseUrl: NOWHERE, apiKey: KEY } });
  const before = await gateway.settings();
  for (const [id, other] of [
    ['hosted_a', 'hosted_b'],
    ['hosted_b', 'hosted_c'],
  ] as const) {
    const answer = await swap(gateway, id, { with: other });
    expect(expectError(answer, 409, 'set_by_environment')).toContain('INGLENOOK_HOSTED_B_MODEL');
  }
  expect(await gateway.settings()).toEqual(before);
});

test.each([
  ['hosted_a', {}, 400],
  ['hosted_a', { with: 'hosted_a' }, 400],
  ['hosted_a', { with: 'local' }, 400],
  ['hosted_a', { with: ['hosted_b'] }, 400],
  ['hosted_a', [], 400],
  ['local', { with: 'hosted_a' }, 404],
  ['ondemand', { with: 'hosted_a' }, 404],
  ['constructor', { with: 'hosted_a' }, 404],
])(
  'a swap of %s with %j is refused, and the error says what may be exchanged',
  async (id, body, status) => {
    const gateway = await startControlled({});
    const code = status === 400 ? 'invalid_request' : 'not_found';
    expect(expectError(await swap(gateway, id, body), status, code)).toContain('hosted_b');
  },
);

test.each(HOSTED_IDS)(
  'a patch of nulls removes %s whole, and its key from the disk',
  async (id) => {
    const gateway = await startControlled({});
    const headers = { 'x-key': 'hunter22' };
    await gateway.set({ [id]: { baseUrl: NOWHERE, apiKey: KEY, headers } });
    const keys = Object.keys((await gateway.settings())[id] ?? {});
    const after = await gateway.set({ [id]: Object.fromEntries(keys.map((key) => [key, null])) });
    for (const shown of Object.values(after[id] ?? {}))
      expect(shown).toMatchObject({ value: shown.default, source: 'default' });
    for (const name of ['settings.json', 'secrets.json'])
      expect(onDisk(gateway, name)).toEqual({ [id]: {} });
  },
);
