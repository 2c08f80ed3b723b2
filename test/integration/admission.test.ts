import { expect, test } from 'vitest';
import { chat, HELLO, type Pending, startChat } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { startControlled } from '../support/control.ts';
import { readExposition } from '../support/exposition.ts';
import { bearer, send } from '../support/http.ts';
import { answers, error, hang, startUpstream } from '../support/upstream.ts';

const [ANNA, BERT] = ['key-of-anna-0123456789', 'key-of-bert-0123456789'] as const;
const LONGEST_WAIT_MS = 10_000;
const LONGEST_QUEUE = 100;

/** Null: the default limit. */
async function startLimited(limit: number | null, settings: Readonly<Record<string, string>> = {}) {
  const upstream = await startUpstream(hang);
  const clock = createManualClock();
  const gateway = await startControlled(
    {
      HOSTED_A_BASE_URL: upstream.url,
      ...(limit === null ? {} : { MAX_CONCURRENT_REQUESTS: String(limit) }),
      HEDGE: 'off',
      HOSTED_A_TIMEOUT_MS: '3600000',
      ...settings,
    },
    clock,
  );
  const admission = async () => (await gateway.status()).admission;
  /** Starts a request that has to wait. */
  async function queue(name: string, headers: Record<string, string> = {}): Promise<Pending> {
    const { queued } = await admission();
    const pending = startChat(gateway.url, { ...HELLO, user: name }, headers);
    await expect.poll(async () => (await admission()).queued).toBe(queued + 1);
    return pending;
  }
  return { upstream, clock, gateway, admission, queue };
}

test('a request over the limit of running ones waits until another has ended, and is then served', async () => {
  const { upstream, gateway, admission, queue } = await startLimited(1);
  const first = startChat(gateway.url);
  const call = await upstream.call(1);
  const second = await queue('second');
  expect(await admission()).toEqual({ running: 1, queued: 1, limit: 1, refused: 0 });
  expect(upstream.calls).toHaveLength(1);
  upstream.script = answers('x');
  await answers('x')(call);
  expect(await first.answer).toMatchObject({ status: 200 });
  expect(await second.answer).toMatchObject({ status: 200, upstream: 'hosted_a', reason: 'none' });
  await expect.poll(admission).toEqual({ running: 0, queued: 0, limit: 1, refused: 0 });
});

test.each<[ends: string, end: (first: Pending, call: { readonly socket: object }) => unknown]>([
  ['was left by its caller', (first) => first.leave()],
  ['failed', (_first, call) => error(400)(call as Parameters<typeof hang>[0])],
])('a place is free again when its request %s', async (_ends, end) => {
  const { upstream, gateway, queue } = await startLimited(1);
  const first = startChat(gateway.url);
  const call = await upstream.call(1);
  const second = await queue('second');
  upstream.script = answers('x');
  await end(first, call);
  expect(await second.answer).toMatchObject({ status: 200 });
});

test('callers take turns, so that one with many requests does not keep another waiting', async () => {
  const { upstream, gateway, queue } = await startLimited(1, { API_KEYS: `${ANNA},${BERT}` });
  startChat(gateway.url, HELLO, bearer(ANNA));
  await upstream.call(1);
  const waiting = [
    await queue('anna 1', bearer(ANNA)),
    await queue('anna 2', { 'x-gateway-key': ANNA }),
    await queue('anna 3', bearer(ANNA)),
    await queue('bert 1', bearer(BERT)),
    await queue('bert 2', bearer(BERT)),
  ];
  for (let served = 1; served <= waiting.length; served += 1) {
    const call = await upstream.call(served);
    await answers('x')(call);
    await upstream.call(served + 1);
  }
  const order = upstream.calls.slice(1).map(({ json }) => json['user']);
  expect(order).toEqual(['anna 1', 'bert 1', 'anna 2', 'bert 2', 'anna 3']);
});

test('a caller that has waited for ten seconds is told to come back', async () => {
  const { upstream, clock, gateway, admission, queue } = await startLimited(1);
  startChat(gateway.url);
  await upstream.call(1);
  const second = await queue('second');
  clock.advance(LONGEST_WAIT_MS);
  const answer = await second.answer;
  expect(answer).toMatchObject({
    status: 503,
    upstream: 'none',
    reason: 'none',
    headers: { 'retry-after': '2', 'x-gateway-request-id': expect.any(String) },
  });
  expect(JSON.parse(answer.text)).toEqual({
    error: {
      message: expect.stringContaining('INGLENOOK_MAX_CONCURRENT_REQUESTS'),
      type: 'server_error',
      code: 'overloaded',
      param: null,
    },
    src: 'gateway',
  });
  expect(await admission()).toEqual({ running: 1, queued: 0, limit: 1, refused: 1 });
  expect(upstream.calls).toHaveLength(1);
});

test('a caller whose queue is full is refused at once, and others are not', async () => {
  const { upstream, gateway, admission, queue } = await startLimited(1, {
    API_KEYS: `${ANNA},${BERT}`,
  });
  startChat(gateway.url, HELLO, bearer(ANNA));
  await upstream.call(1);
  for (let n = 0; n < LONGEST_QUEUE; n += 1) startChat(gateway.url, HELLO, bearer(ANNA));
  await expect.poll(async () => (await admission()).queued).toBe(LONGEST_QUEUE);
  // The clock stands still: nothing is waited for.
  expect(await chat(gateway.url, HELLO, bearer(ANNA))).toMatchObject({ status: 503 });
  await queue('bert', bearer(BERT));
  expect(await admission()).toMatchObject({ queued: LONGEST_QUEUE + 1, refused: 1 });
});

test('a caller that goes away leaves the queue at once, and is never served', async () => {
  const { upstream, clock, gateway, admission, queue } = await startLimited(1);
  const first = startChat(gateway.url);
  const call = await upstream.call(1);
  const timers = clock.pending();
  const second = await queue('second');
  second.leave();
  await expect.poll(async () => (await admission()).queued).toBe(0);
  expect(clock.pending()).toBe(timers);
  await answers('x')(call);
  await first.answer;
  upstream.script = answers('x');
  expect(await chat(gateway.url, { ...HELLO, user: 'third' })).toMatchObject({ status: 200 });
  expect(upstream.calls.map(({ json }) => json['user'])).toEqual([undefined, 'third']);
});

test('a request that is refused as invalid takes no place', async () => {
  const { upstream, gateway } = await startLimited(1);
  startChat(gateway.url);
  await upstream.call(1);
  expect(await chat(gateway.url, { messages: [] })).toMatchObject({ status: 400 });
});

test('a raised limit admits requests that wait, with the next request that comes', async () => {
  const { upstream, gateway, admission, queue } = await startLimited(null);
  await gateway.set({ gateway: { maxConcurrentRequests: 1 } });
  startChat(gateway.url);
  await upstream.call(1);
  await queue('second');
  await gateway.set({ gateway: { maxConcurrentRequests: 3 } });
  startChat(gateway.url, { ...HELLO, user: 'third' });
  await upstream.call(3);
  expect(upstream.calls.map(({ json }) => json['user'])).toEqual([undefined, 'second', 'third']);
  expect(await admission()).toEqual({ running: 3, queued: 0, limit: 3, refused: 0 });
});

test('the number of waiting requests is in the metrics and in the snapshot for the dashboard', async () => {
  const { upstream, gateway, queue } = await startLimited(1);
  startChat(gateway.url);
  await upstream.call(1);
  await queue('second');
  const { text } = await send(`${gateway.url}/metrics`, { headers: gateway.control });
  const metrics = readExposition(text);
  const value = (of: string) => metrics.get(`inglenook_requests_${of}`)?.series.get('{}');
  expect(['running', 'queued', 'limit', 'refused_total'].map(value)).toEqual([1, 1, 1, 0]);
  expect(gateway.host.snapshot().status.admission.queued).toBe(1);
});
