import { expect, test } from 'vitest';
import { chat, chatStream, HELLO, startChat } from '../support/client.ts';
import { startControlled, type Controlled } from '../support/control.ts';
import {
  answers,
  chunk,
  DONE,
  error,
  hang,
  lists,
  ROLE,
  stall,
  startUpstream,
  STOP,
} from '../support/upstream.ts';
import { startBefore, startStill } from '../support/scene.ts';

const circuitOf = async (gateway: Controlled, id: string) => {
  const upstream = (await gateway.status()).upstreams.find((each) => each.id === id);
  return { ...upstream?.circuit, skips: upstream?.skips.map(({ reason }) => reason) };
};

test('the address, key, model and headers apply from the next request on, and a running one keeps its own', async () => {
  const first = await startUpstream(stall(ROLE, chunk({ content: 'a' })));
  const second = await startUpstream(answers('b'));
  const gateway = await startControlled({});
  await gateway.set({ hosted_a: { baseUrl: first.url, apiKey: 'key-1', model: 'm-1' } });
  const running = startChat(gateway.url, { ...HELLO, stream: true });
  await running.received('"a"');
  const next = { baseUrl: second.url, apiKey: 'key-2', model: 'm-2', label: 'Second' };
  await gateway.set({ hosted_a: { ...next, headers: { 'x-team': 'blue' } } });
  expect((await chat(gateway.url)).text).toContain('"b"');
  const { res, headers: before, json: asked } = await first.call(1);
  expect([before.authorization, asked['model']]).toEqual(['Bearer key-1', 'm-1']);
  const { headers, json: body } = await second.call(1);
  expect(headers).toMatchObject({ authorization: 'Bearer key-2', 'x-team': 'blue' });
  expect(body['model']).toBe('m-2');
  res.end(chunk({ content: 'c' }) + STOP + DONE);
  expect((await running.answer).text).toMatch(/"c".*\[DONE\]\n\n$/s);
});

test.each<[what: string, patch: object, authorization: string | undefined]>([
  ['another service without a key gets none', {}, undefined],
  ['another service gets the key that comes with it', { apiKey: 'key-2' }, 'Bearer key-2'],
])('%s', async (_what, more, authorization) => {
  const first = await startUpstream(answers('a'));
  const second = await startUpstream(answers('b'));
  const gateway = await startControlled({});
  const headers = { 'x-account': 'mine' };
  await gateway.set({ hosted_a: { apiKey: 'key-1', headers } });
  await gateway.set({ hosted_a: { baseUrl: first.url } });
  await chat(gateway.url);
  const sent = { authorization: 'Bearer key-1', ...headers };
  expect((await first.call(1)).headers).toMatchObject(sent);
  // The same service at another path keeps them.
  await gateway.set({ hosted_a: { baseUrl: `${first.url}/v1` } });
  await chat(gateway.url);
  expect((await first.call(2)).headers).toMatchObject({ authorization: 'Bearer key-1' });
  await gateway.set({ hosted_a: { baseUrl: second.url, ...more } });
  await chat(gateway.url);
  const { authorization: key, 'x-account': account } = (await second.call(1)).headers;
  expect([key, account]).toEqual([authorization, undefined]);
});

test('a timeout applies from the next request on, and a running one keeps its own', async () => {
  const { gateway, a, clock } = await startStill({ a: hang });
  const running = chat(gateway.url);
  await a.call(1);
  await gateway.set({ hosted_a: { timeoutMs: 1000 } });
  const next = chat(gateway.url);
  await a.call(2);
  clock.advance(1000);
  expect(await next).toMatchObject({ status: 504, reason: 'hosted_a=timeout' });
  clock.advance(28_999);
  expect(await Promise.race([running, gateway.status().then(() => 'runs')])).toBe('runs');
  clock.advance(1);
  expect((await running).status).toBe(504);
});

test('the idle timeout of a running stream stays what it was', async () => {
  const { gateway, a, clock } = await startStill({ a: stall(ROLE, chunk({ content: 'a' })) });
  const running = startChat(gateway.url, { ...HELLO, stream: true });
  await running.received('"a"');
  await gateway.set({ routing: { idleTimeoutMs: 1000 } });
  clock.advance(1000);
  const { res } = await a.call(1);
  res.end(STOP + DONE);
  expect((await running.answer).text).toMatch(/\[DONE\]\n\n$/);
});

test('the switches for assembling and for never spending money apply from the next request on', async () => {
  const { gateway, a } = await startBefore({ a: answers('hi') });
  await chat(gateway.url);
  await gateway.set({ hosted_a: { assemble: false } });
  await chat(gateway.url);
  expect(a.calls.map((call) => call.json['stream'])).toEqual([true, undefined]);
  await gateway.set({ routing: { forceZero: true } });
  expect(await chat(gateway.url)).toMatchObject({ status: 503 });
  expect(await gateway.status()).toMatchObject({ forceZero: true, zero: true, ok: false });
  await gateway.set({ routing: { forceZero: null } });
  expect((await chat(gateway.url)).status).toBe(200);
});

test('another local.baseUrl is another engine: its models, its answers', async () => {
  const old = await startUpstream(answers('old'));
  const young = await startUpstream(answers('young'));
  old.answerGet = lists('llama-old');
  young.answerGet = lists('llama-new');
  const gateway = await startControlled({});
  const modelShown = async () => (await gateway.status()).config.models.local;
  await gateway.set({ local: { baseUrl: old.url } });
  await expect.poll(modelShown).toBe('llama-old');
  await gateway.set({ local: { baseUrl: young.url } });
  await expect.poll(modelShown).toBe('llama-new');
  expect((await chatStream(gateway.url)).upstream).toBe('local');
  expect(young.calls[0]?.json['model']).toBe('llama-new');
  await gateway.set({ local: { baseUrl: null } });
  expect(await chat(gateway.url)).toMatchObject({ status: 503 });
  expect(await gateway.status()).toMatchObject({ local: { health: 'unavailable' } });
});

test.each([
  ['baseUrl', 'http://127.0.0.1:9'],
  ['apiKey', 'key-2'],
  ['model', 'other'],
  ['label', 'Other'],
  ['timeoutMs', 29_000],
])(
  'an upstream that is saved with another %s has a closed circuit and no skips',
  async (key, value) => {
    const upstream = await startUpstream(error(503), error(401));
    const gateway = await startControlled({});
    await gateway.set({ circuit: { failThreshold: 1 }, hosted_a: { baseUrl: upstream.url } });
    await chat(gateway.url);
    await chat(gateway.url);
    const before = { open: true, fails: 1, skips: ['credentials'] };
    expect(await circuitOf(gateway, 'hosted_a')).toMatchObject(before);
    await gateway.set({ hosted_b: { label: 'x' }, routing: { hedge: 'off' } });
    expect(await circuitOf(gateway, 'hosted_a')).toMatchObject(before);
    await gateway.set({ hosted_a: { [key]: value } });
    expect(await circuitOf(gateway, 'hosted_a')).toMatchObject({
      open: false,
      consecutiveFails: 0,
      fails: 1,
      skips: [],
    });
  },
);

test('the answer to a request with the old key does not exclude the upstream for the new key', async () => {
  const hosted = await startUpstream(hang);
  const { gateway, local } = await startBefore({ local: hang });
  await gateway.set({ hosted_a: { baseUrl: hosted.url, apiKey: 'bad-key' } });
  const underWay = chat(gateway.url);
  const atLocal = await local.call(1);
  const later = chat(gateway.url);
  const stillAtLocal = await local.call(2);
  error(503)(atLocal);
  // One has sent the old key already, one is yet to.
  const withOldKey = await hosted.call(1);
  hosted.script = error(401);
  await gateway.set({ hosted_a: { apiKey: 'good-key' } });
  error(401)(withOldKey);
  error(503)(stillAtLocal);
  expect((await underWay).reason).toBe('local=http_503; hosted_a=credentials');
  expect((await later).reason).toBe('local=http_503; hosted_a=credentials');
  const keys = hosted.calls.map(({ headers }) => headers.authorization);
  expect(keys).toEqual(['Bearer bad-key', 'Bearer bad-key']);
  expect(await circuitOf(gateway, 'hosted_a')).toMatchObject({ open: false, skips: [] });
  local.script = error(503);
  hosted.script = answers('hi');
  expect(await chat(gateway.url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
});
