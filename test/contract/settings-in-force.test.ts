import { expect, test } from 'vitest';
import { createManualClock } from '../support/clock.ts';
import { chat, chatStream, HELLO, startChat } from '../support/client.ts';
import { startControlled, type Controlled } from '../support/control.ts';
import {
  answers,
  chunk,
  DONE,
  error,
  hang,
  ROLE,
  stall,
  startUpstream,
  STOP,
  type UpstreamGet,
} from '../support/upstream.ts';

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
  await gateway.set({
    hosted_a: {
      baseUrl: second.url,
      apiKey: 'key-2',
      model: 'm-2',
      headers: { 'x-team': 'blue' },
      label: 'Second',
    },
  });
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
  expect((await first.call(1)).headers).toMatchObject({
    authorization: 'Bearer key-1',
    ...headers,
  });
  // The same service at another path keeps them.
  await gateway.set({ hosted_a: { baseUrl: `${first.url}/v1` } });
  await chat(gateway.url);
  expect((await first.call(2)).headers).toMatchObject({ authorization: 'Bearer key-1' });
  await gateway.set({ hosted_a: { baseUrl: second.url, ...more } });
  await chat(gateway.url);
  const call = await second.call(1);
  expect([call.headers.authorization, call.headers['x-account']]).toEqual([
    authorization,
    undefined,
  ]);
});

test('a timeout applies from the next request on, and a running one keeps its own', async () => {
  const clock = createManualClock();
  const upstream = await startUpstream(hang);
  const gateway = await startControlled({ HOSTED_A_BASE_URL: upstream.url }, clock);
  const running = chat(gateway.url);
  await upstream.call(1);
  await gateway.set({ hosted_a: { timeoutMs: 1000 } });
  const next = chat(gateway.url);
  await upstream.call(2);
  clock.advance(1000);
  expect(await next).toMatchObject({ status: 504, reason: 'hosted_a=timeout' });
  clock.advance(28_999);
  expect(await Promise.race([running, gateway.status().then(() => 'runs')])).toBe('runs');
  clock.advance(1);
  expect((await running).status).toBe(504);
});

test('the idle timeout of a running stream stays what it was', async () => {
  const clock = createManualClock();
  const upstream = await startUpstream(stall(ROLE, chunk({ content: 'a' })));
  const gateway = await startControlled({ HOSTED_A_BASE_URL: upstream.url }, clock);
  const running = startChat(gateway.url, { ...HELLO, stream: true });
  await running.received('"a"');
  await gateway.set({ routing: { idleTimeoutMs: 1000 } });
  clock.advance(1000);
  const { res } = await upstream.call(1);
  res.end(STOP + DONE);
  expect((await running.answer).text).toMatch(/\[DONE\]\n\n$/);
});

test('the switches for assembling and for never spending money apply from the next request on', async () => {
  const upstream = await startUpstream(answers('hi'));
  const gateway = await startControlled({ HOSTED_A_BASE_URL: upstream.url });
  await chat(gateway.url);
  await gateway.set({ hosted_a: { assemble: false } });
  await chat(gateway.url);
  expect(upstream.calls.map((call) => call.json['stream'])).toEqual([true, undefined]);
  await gateway.set({ routing: { forceZero: true } });
  expect(await chat(gateway.url)).toMatchObject({ status: 503 });
  expect(await gateway.status()).toMatchObject({ forceZero: true, zero: true, ok: false });
  await gateway.set({ routing: { forceZero: null } });
  expect((await chat(gateway.url)).status).toBe(200);
});

const lists =
  (id: string) =>
  ({ res }: UpstreamGet): void =>
    void res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ object: 'list', data: [{ id }] }));

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

const OTHER = { baseUrl: 'http://127.0.0.1:9', apiKey: 'key-2', model: 'other', label: 'Other' };

test.each(['baseUrl', 'apiKey', 'model', 'label'] as const)(
  'an upstream that is saved with another %s has a closed circuit and no skips',
  async (key) => {
    const upstream = await startUpstream(error(503), error(401));
    const gateway = await startControlled({});
    await gateway.set({ circuit: { failThreshold: 1 }, hosted_a: { baseUrl: upstream.url } });
    await chat(gateway.url);
    await chat(gateway.url);
    const before = { open: true, fails: 1, skips: ['credentials'] };
    expect(await circuitOf(gateway, 'hosted_a')).toMatchObject(before);
    await gateway.set({ hosted_b: { label: 'x' }, routing: { hedge: 'off' } });
    expect(await circuitOf(gateway, 'hosted_a')).toMatchObject(before);
    await gateway.set({ hosted_a: { [key]: OTHER[key] } });
    expect(await circuitOf(gateway, 'hosted_a')).toMatchObject({
      open: false,
      consecutiveFails: 0,
      fails: 1,
      skips: [],
    });
  },
);

test('the answer to a request with the old key does not exclude the upstream for the new key', async () => {
  const slow = await startUpstream(hang);
  const hosted = await startUpstream(hang);
  const gateway = await startControlled({ LOCAL_ENGINE_URL: slow.url });
  await gateway.set({ hosted_a: { baseUrl: hosted.url, apiKey: 'bad-key' } });
  const underWay = chat(gateway.url);
  const atLocal = await slow.call(1);
  const later = chat(gateway.url);
  const stillAtLocal = await slow.call(2);
  await error(503)(atLocal);
  // One has sent the old key already, one is yet to.
  const withOldKey = await hosted.call(1);
  hosted.script = error(401);
  await gateway.set({ hosted_a: { apiKey: 'good-key' } });
  await error(401)(withOldKey);
  await error(503)(stillAtLocal);
  expect((await underWay).reason).toBe('local=http_503; hosted_a=credentials');
  expect((await later).reason).toBe('local=http_503; hosted_a=credentials');
  expect(hosted.calls.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer bad-key',
    'Bearer bad-key',
  ]);
  expect(await circuitOf(gateway, 'hosted_a')).toMatchObject({ open: false, skips: [] });
  slow.script = error(503);
  hosted.script = answers('hi');
  expect(await chat(gateway.url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
});
