import { expect, test } from 'vitest';
import { chatStream, expectServed, HELLO, startChat, textOf } from '../support/client.ts';
import {
  attemptsOf,
  callsOf,
  expectAtRest,
  startStill,
  startTierScene,
  STREAM,
} from '../support/scene.ts';
import { MODEL } from '../support/tier.ts';
import { answers, error, hang, json, type Script } from '../support/upstream.ts';

/** An engine without room for so many seconds, in both of the forms that there are. */
const limitedFor = (seconds: string): Script =>
  error(429, 'slow down', null, { 'retry-after': seconds });
const busyFor = (seconds: string): Script =>
  json(503, { error: 'server busy, please try again.' }, { 'retry-after': seconds });
const PAID = answers('paid');

test.each([
  ['a 429', limitedFor('2')],
  ['a busy 503', busyFor('2')],
])(
  'a request waits for a local that is the only upstream after %s, and its answer is not lost',
  async (_says, script) => {
    const scene = await startStill({ local: [script, answers('after the wait')] });
    const pending = chatStream(scene.url);
    scene.clock.advance(await scene.clock.timer(2000, 2000));
    const answer = await pending;
    expectServed(answer, 'local');
    expect(textOf(answer.text)).toBe('after the wait');
    const reasons = attemptsOf(scene.gateway).map(([, , reason]) => reason);
    expect(reasons).toEqual([expect.stringMatching(/rate_limited|busy/), null]);
    await expectAtRest(scene.gateway);
  },
);

test.each(['own', 'off'])(
  'a request waits for a full local with HEDGE=%s before it spends money',
  async (hedge) => {
    const scene = await startStill(
      { local: [limitedFor('2'), answers('x')], a: PAID, ondemand: PAID },
      { HEDGE: hedge },
    );
    const pending = chatStream(scene.url);
    scene.clock.advance(await scene.clock.timer(2000, 2000));
    expectServed(await pending, 'local');
    expect(callsOf({ local: scene.local, a: scene.a, ondemand: scene.ondemand })).toEqual({
      local: 2,
      a: 0,
      ondemand: 0,
    });
    // Nor is a GPU started that costs money by the minute.
    expect(scene.ondemand.gets).toHaveLength(0);
  },
);

test('a request does not wait for a full local with HEDGE=all if another upstream may be called', async () => {
  const scene = await startStill({ local: limitedFor('2'), a: PAID }, { HEDGE: 'all' });
  expectServed(await chatStream(scene.url), 'hosted_a', 'local=rate_limited');
});

test('the wait for local ends with the caller, and no upstream is called any more', async () => {
  const scene = await startStill({ local: limitedFor('2'), a: PAID });
  const pending = startChat(scene.url, STREAM);
  await scene.clock.timer(2000, 2000);
  pending.leave();
  await expect
    .poll(() => scene.gateway.host.snapshot().requests.map(({ state }) => state))
    .toEqual(['cancelled']);
  scene.clock.advance(2000);
  await expectAtRest(scene.gateway);
  expect(callsOf({ local: scene.local, a: scene.a })).toEqual({ local: 1, a: 0 });
});

test('a request that comes meanwhile waits as well if no other upstream is left', async () => {
  const { url, clock, local } = await startStill({ local: [limitedFor('2'), answers('hi')] });
  const first = chatStream(url);
  await clock.timer(2000, 2000);
  const timers = clock.pending();
  const second = chatStream(url);
  await expect.poll(() => clock.pending()).toBeGreaterThan(timers);
  clock.advance(2000);
  for (const each of [first, second]) expectServed(await each, 'local');
  expect(callsOf({ local })).toEqual({ local: 3 });
});

test('the wait for local counts in the timeout, and the second call gets what is left', async () => {
  const scene = await startStill({ local: [limitedFor('2'), hang] }, { LOCAL_TIMEOUT_MS: '5000' });
  const pending = chatStream(scene.url);
  scene.clock.advance(await scene.clock.timer(2000, 2000));
  await scene.local.call(2);
  scene.clock.advance(3000);
  expect(await pending).toMatchObject({ status: 504, reason: 'local=timeout' });
});

test('a request waits for the last machine if all of them are full', async () => {
  // A length that no other timer has.
  const limited = error(429, 'slow down', null, { 'retry-after-ms': '1234' });
  const tier = await startTierScene({ slow: limitedFor('2'), quick: [limited, answers('x')] });
  const { slow, quick } = tier.own;
  const pending = chatStream(tier.url, { ...HELLO, model: MODEL });
  tier.clock.advance(await tier.clock.timer(1234, 1234));
  const answer = await pending;
  expectServed(answer, 'local', `local/${slow.id}=rate_limited`);
  expect(answer.headers['x-gateway-provider']).toBe(quick.id);
  expect([slow.calls.length, quick.calls.length]).toEqual([1, 2]);
});
