import { expect, test } from 'vitest';
import { chat, HELLO } from '../support/client.ts';
import type { ManualClock } from '../support/clock.ts';
import type { TestGateway } from '../support/gateway.ts';
import { pollUntil } from '../support/polling.ts';
import { answers, error, hang, REFUSED_URL, type Upstream, json } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startStill, startBefore } from '../support/scene.ts';

function warmupOf(gateway: TestGateway) {
  return gateway.host.snapshot().status.ondemand_warmup_detail;
}

/** Moves the clock on and gives the time that the last warm-up should bear if it began then. */
function later(clock: ManualClock, ms: number): string {
  clock.advance(ms);
  return new Date(clock.now()).toISOString();
}

/** Resolves when the warm-up's state is `state`. */
async function warmupIs(state: string, gateway: TestGateway, clock: ManualClock): Promise<void> {
  while (warmupOf(gateway).state !== state) {
    // One turn of the gateway's event loop.
    await (await fetch(`${gateway.url}/healthz`)).text();
    clock.advance(0);
  }
}

/** A machine that neither warms up nor answers: each start ends at once, as failed. */
const CLOSED = { script: error(401), get: error(401) };
const LOST = at({ local: REFUSED_URL });

test('the warm-up of ondemand starts as soon as local fails, while hosted upstreams are still called', async () => {
  const { gateway, a, ondemand, clock } = await startStill(
    { a: hang, ondemand: { script: answers('never asked'), get: json(200, {}) } },
    { ...LOST, ONDEMAND_API_KEY: 'ondemand-key', ONDEMAND_HEADERS: '{"x-region":"eu"}' },
  );
  const answer = chat(gateway.url, HELLO, { authorization: 'Bearer of-the-caller', cookie: 'a=b' });
  const { path, headers } = await ondemand.get(1);
  expect(path).toBe('/health');
  expect(headers).toMatchObject({ authorization: 'Bearer ondemand-key', 'x-region': 'eu' });
  expect(headers).not.toHaveProperty('cookie');
  await warmupIs('ready', gateway, clock);
  expect(warmupOf(gateway)).toMatchObject({ lastWarmupAt: '2026-01-01T00:00:00.000Z' });
  // The request itself is still with the hosted upstream; the warm-up has nothing to do with it.
  await answers('from a')(await a.call(1));
  expect(await answer).toMatchObject({ status: 200, upstream: 'hosted_a' });
  expect(ondemand.calls).toHaveLength(0);
});

test('the warm-up of ondemand does not start while local answers', async () => {
  const { gateway } = await startBefore({ local: answers('here'), ondemand: CLOSED });
  await chat(gateway.url);
  expect(warmupOf(gateway)).toMatchObject({ state: 'idle', lastWarmupAt: null });
});

test.each([
  ['it is switched off', { ONDEMAND_WARMUP: 'false' }, {}],
  ['no money may be spent', { FORCE_ZERO: 'true' }, {}],
  ['the request forbids spending', {}, { 'x-gateway-force-zero': '1' }],
  ['local is not configured', { LOCAL_ENGINE_URL: '' }, {}],
  ['ondemand is not configured', { ONDEMAND_BASE_URL: '' }, {}],
])('the warm-up of ondemand does not start when %s', async (_says, settings, headers) => {
  const all = { ...at({ local: REFUSED_URL, hosted_a: REFUSED_URL }), ...settings };
  const { gateway, ondemand } = await startBefore({ ondemand: CLOSED }, all);
  const answer = await chat(gateway.url, HELLO, headers);
  expect(answer.status).toBeGreaterThanOrEqual(500);
  expect(warmupOf(gateway)).toMatchObject({ state: 'idle', lastWarmupAt: null });
  expect(ondemand.gets).toHaveLength(0);
});

test('the warm-up of ondemand polls a machine that is starting 1 s to 5 s apart until it is ready', async () => {
  let polls = 0;
  const get: Upstream['answerGet'] = (poll) => {
    polls += 1;
    return error(polls < 4 ? 503 : 200)(poll);
  };
  const { gateway, ondemand, clock } = await startStill({ ondemand: { get } }, LOST);
  const answer = chat(gateway.url);
  await pollUntil(ondemand.get(4), clock);
  await warmupIs('ready', gateway, clock);
  const { durationMs, lastResult } = warmupOf(gateway);
  expect(lastResult).toBe('HTTP 200');
  expect(durationMs).toBeGreaterThanOrEqual(3000);
  expect(durationMs).toBeLessThanOrEqual(15_000);
  expect(ondemand.gets).toHaveLength(4);
  clock.advance(120_000);
  await answer;
});

test.each([
  ['60 s', 60_000, error(401)],
  ['10 min while a hosted upstream answers', 600_000, answers('from a')],
])('requests that lose local start one warm-up in %s', async (_says, ms, a) => {
  const { gateway, ondemand, clock } = await startStill({ a, ondemand: CLOSED }, LOST);
  const first = later(clock, 0);
  await chat(gateway.url);
  await warmupIs('failed', gateway, clock);
  expect(warmupOf(gateway).lastWarmupAt).toBe(first);
  later(clock, ms - 1);
  await chat(gateway.url);
  expect(warmupOf(gateway).lastWarmupAt).toBe(first);
  const second = later(clock, 1);
  await chat(gateway.url);
  expect(warmupOf(gateway).lastWarmupAt).toBe(second);
  await ondemand.get(2);
  expect(ondemand.gets).toHaveLength(2);
});

test('requests that lose local start no warm-up while ondemand is ready, and one again once idle for 5 min', async () => {
  const awake = { script: answers('awake'), get: json(200, {}) };
  const { gateway, clock } = await startStill({ ondemand: awake }, LOST);
  const first = later(clock, 0);
  await chat(gateway.url);
  await warmupIs('ready', gateway, clock);
  later(clock, 299_999);
  await chat(gateway.url);
  expect(warmupOf(gateway)).toMatchObject({ state: 'ready', lastWarmupAt: first });
  const second = later(clock, 300_000);
  expect(warmupOf(gateway).state).toBe('idle');
  await chat(gateway.url);
  expect(warmupOf(gateway).lastWarmupAt).toBe(second);
});
