import { expect, test, vi } from 'vitest';
import { PendingCall } from '../../main/gateway/upstream/exchange.ts';
import { chat, expectServed, startChat } from '../support/client.ts';
import {
  ask,
  askHedged,
  askSlow,
  attemptsOf,
  callsOf,
  circuitsOf,
  expectAtRest,
  LINE_MS,
  pass,
  PLAIN,
  startStill,
  startTierScene,
  STREAM,
} from '../support/scene.ts';
import { answers, chunk, error, hang, ROLE, stall } from '../support/upstream.ts';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import { turns } from '../support/report.ts';
import { nextPause } from '../support/polling.ts';

const DEAD = error(503);
/** Leaves the circuit as it is, and the next one is asked. */
const TOO_LONG = error(400, 'the prompt is too long');
const MINUTE_MS = 60_000;
const NO_MONEY = { 'x-gateway-force-zero': '1' };

test.each<[when: string, settings: Record<string, string>, headers?: Record<string, string>]>([
  ['by default', {}],
  ['with HEDGE=off', { HEDGE: 'off' }],
  ['with HEDGE=all while a header forbids to spend', { HEDGE: 'all' }, NO_MONEY],
  ['with HEDGE=all while a setting forbids to spend', { HEDGE: 'all', FORCE_ZERO: 'true' }],
])('no paid upstream is called because local is slow, %s', async (_when, settings, headers) => {
  const paid = answers('never asked');
  const scene = await startStill({ local: hang, a: paid, ondemand: paid }, settings);
  const { a, local, ondemand } = scene;
  const pending = startChat(scene.url, STREAM, headers);
  const call = await local.call(1);
  await pass(scene, 4 * LINE_MS);
  expect(callsOf({ local, a, ondemand })).toEqual({ local: 1, a: 0, ondemand: 0 });
  await answers('from local')(call);
  expectServed(await pending.answer, 'local');
});

/** More than own machines read twice. */
const LONG = { ...STREAM, messages: [{ role: 'user', content: 'x'.repeat(8192) }] };

test('HEDGE=own hedges among paid upstreams once local has failed, for prompts of any length', async () => {
  const scene = await startStill({ local: DEAD, a: hang, b: answers('from b') });
  const { pending } = await askSlow(scene, scene.a, LONG);
  expectServed(await pending.answer, 'hosted_b', 'local=http_503; hosted_a=outrun');
});

test('own machines never read a prompt of more than 8 KiB twice', async () => {
  const tier = await startTierScene({ first: hang, second: answers('never asked') });
  const { pending, call } = await ask(tier, tier.own.first, LONG);
  await pass(tier, 3 * LINE_MS);
  expect(tier.own.second.calls).toHaveLength(0);
  await answers('from the first')(call);
  expectServed(await pending.answer, 'local');
});

test.each([
  ['whose circuit is open', DEAD, MINUTE_MS - LINE_MS - 1],
  ['whose circuit is half-open', DEAD, MINUTE_MS],
  ['that is rate limited', error(429, 'no', null, { 'retry-after': '60' }), 0],
])('a hedge skips an upstream %s', async (_state, second, passedMs) => {
  const scene = await startStill(
    { a: [TOO_LONG, hang], b: [second, hang], c: answers('from c') },
    { FAIL_THRESHOLD: '1', COOLDOWN_MS: String(MINUTE_MS) },
  );
  // The second one has failed once, and so is out.
  await chat(scene.url);
  const { a, b, clock } = scene;
  const before = (await scene.gateway.status()).circuits['hosted_b'];
  clock.advance(passedMs);
  const { pending } = await askSlow(scene, a);
  expectServed(await pending.answer, 'hosted_c', 'hosted_a=outrun');
  expect(b.calls).toHaveLength(1);
  const after = (await scene.gateway.status()).circuits['hosted_b'];
  expect(after?.open).toBe(before?.open);
});

test('the circuit of a slow call counts it as slow, and opens like for slow answers', async () => {
  const scene = await startStill({ a: hang, b: answers('from b') });
  const { a, url } = scene;
  for (let n = 1; n <= 3; n += 1) {
    const { pending } = await askSlow(scene, a);
    expect(await pending.answer).toMatchObject({ reason: 'hosted_a=outrun' });
    const slow = { consecutiveSlow: n, open: n === 3, ewmaTtft: LINE_MS, lastTtftMs: null };
    const { hosted_a: circuit } = (await scene.gateway.status()).circuits;
    expect(circuit).toMatchObject({ fails: 0, successes: 0, ...slow });
  }
  expectServed(await chat(url), 'hosted_b', 'hosted_a=circuit_open');
  const well = { fails: 0, successes: 4, consecutiveSlow: 0 };
  expect((await scene.gateway.status()).circuits['hosted_b']).toMatchObject(well);
  await expectAtRest(scene.gateway);
});

test('the next machine is called alongside a slow one by default', async () => {
  const tier = await startTierScene({ slow: hang, fast: hang }, { hosted_a: answers('no') });
  const { slow, fast } = tier.own;
  const took = await fastest(async () => {
    const n = slow.calls.length + 1;
    const { pending, call } = await ask(tier, slow);
    await pass(tier, LINE_MS - 1);
    expect(fast.calls).toHaveLength(n - 1);
    tier.clock.advance(1);
    const hedge = await fast.call(n);
    expect((await tier.provider(slow.id)).concurrentRequests).toBe(1);
    expect((await tier.provider(fast.id)).concurrentRequests).toBe(1);
    await answers('from the fast one')(hedge);
    const ms = await millisecondsUntil(call.gone);
    const answer = await pending.answer;
    expectServed(answer, 'local', `local/${slow.id}=outrun`);
    expect(answer.headers['x-gateway-provider']).toBe(fast.id);
    return ms;
  });
  expect(took).toBeLessThan(AT_ONCE_MS);
  await expectAtRest(tier);
  expect(tier.up.hosted_a.calls).toHaveLength(0);
  expect((await tier.provider(slow.id)).concurrentRequests).toBe(0);
  expect(attemptsOf(tier)).toEqual([
    [slow.id, 'turn', 'outrun'],
    [fast.id, 'hedge', null],
  ]);
  const circuits = await circuitsOf(tier);
  const successes = fast.calls.length;
  expect(circuits['local']).toMatchObject({ open: false, fails: 0, successes });
  expect(circuits[slow.id]).toMatchObject({ open: false, fails: 0, successes: 0 });
  expect(circuits[fast.id]).toMatchObject({ open: false, fails: 0, successes });
});

test('the local pool has failed once if both machines fail, and the paid upstream is called', async () => {
  const tier = await startTierScene({ slow: hang, other: hang }, { hosted_a: answers('paid') });
  const { slow, other } = tier.own;
  const { pending, call } = await askSlow(tier, slow);
  DEAD(await other.call(1));
  await turns(tier);
  expect((await circuitsOf(tier))['local']).toMatchObject({ fails: 0 });
  DEAD(call);
  expectServed(
    await pending.answer,
    'hosted_a',
    `local/${slow.id}=http_503; local/${other.id}=http_503`,
  );
  expect(await circuitsOf(tier)).toMatchObject({
    local: { fails: 1, successes: 0 },
    [slow.id]: { fails: 1 },
    [other.id]: { fails: 1 },
  });
  expect(callsOf(tier.own)).toEqual({ slow: 1, other: 1 });
});

const BAD = error(400, 'bad temperature');

test('a hedged call that fails makes room for a third call, which starts at once', async () => {
  const scene = await startStill({ a: hang, b: DEAD, c: hang });
  const { a, b, c, clock } = scene;
  const { pending, slow } = await askHedged(scene, a, b);
  await turns(scene);
  clock.advance(0);
  await answers('from c')(await c.call(1));
  expectServed(await pending.answer, 'hosted_c', 'hosted_a=outrun; hosted_b=http_503');
  await slow.gone;
  await expectAtRest(scene.gateway);
  expect(attemptsOf(scene.gateway)).toEqual([
    ['hosted_a', 'turn', 'outrun'],
    ['hosted_b', 'hedge', 'http_503'],
    ['hosted_c', 'hedge', null],
  ]);
});

test('an unexplained refusal of the slow call leaves the hedged call its chance', async () => {
  const scene = await startStill({ a: hang, b: hang });
  const { pending, slow, hedge } = await askHedged(scene, scene.a, scene.b);
  BAD(slow);
  await turns(scene);
  await answers('from b')(hedge);
  expectServed(await pending.answer, 'hosted_b', 'hosted_a=http_400');
  await expectAtRest(scene.gateway);
  expect((await scene.gateway.status()).circuits).toMatchObject({ hosted_a: { fails: 0 } });
});

test('a refusal of both calls is the answer of the slow one, and no other upstream is called', async () => {
  const scene = await startStill({ a: hang, b: hang, c: answers('no') });
  const { pending, slow, hedge } = await askHedged(scene, scene.a, scene.b);
  error(422, 'no such field')(hedge);
  await turns(scene);
  BAD(slow);
  const answer = await pending.answer;
  expect(answer).toMatchObject({
    status: 400,
    upstream: 'hosted_a',
    reason: 'hosted_a=http_400; hosted_b=http_422',
  });
  expect(answer.text).toContain('bad temperature');
  expect(scene.c.calls).toHaveLength(0);
  await expectAtRest(scene.gateway);
});

test('a refused credential at local ends the hedged call, and the caller gets the refusal', async () => {
  const scene = await startStill({ local: hang, a: hang }, { HEDGE: 'all' });
  const { pending, slow, hedge } = await askHedged(scene, scene.local, scene.a);
  error(401, 'bad key')(slow);
  await hedge.gone;
  const answer = await pending.answer;
  expect(answer).toMatchObject({ status: 401, upstream: 'local', reason: 'none' });
  expect(answer.text).toContain('bad key');
});

test.each([
  ['a stream', STREAM],
  ['a plain answer', PLAIN],
])(
  'a caller of %s that leaves during a hedge aborts both calls at once, and nothing is counted',
  async (_caller, body) => {
    const scene = await startStill({ a: hang, b: stall(ROLE), c: answers('never asked') });
    const { a, b, c } = scene;
    const took = await fastest(async () => {
      const { pending, slow, hedge } = await askHedged(scene, a, b, body);
      await turns(scene);
      expect(scene.gateway.host.snapshot().inFlight).toMatchObject({ hosted_a: 1, hosted_b: 1 });
      pending.leave();
      return millisecondsUntil(Promise.all([slow.gone, hedge.gone]));
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await expectAtRest(scene.gateway);
    await pass(scene, 2 * LINE_MS);
    expect(c.calls).toHaveLength(0);
    const nothing = { fails: 0, successes: 0, consecutiveSlow: 0, ewmaTtft: null };
    const { circuits } = await scene.gateway.status();
    expect(circuits).toMatchObject({ hosted_a: nothing, hosted_b: nothing });
    expect(attemptsOf(scene.gateway)).toEqual([
      ['hosted_a', 'turn', null],
      ['hosted_b', 'hedge', null],
    ]);
  },
);

test('the cold start of an ondemand that is the hedge is polled while the slow call runs', async () => {
  const scene = await startStill({ a: hang, ondemand: [DEAD, answers('awake')] });
  const { pending, call: slow } = await askSlow(scene, scene.a);
  scene.clock.advance(await nextPause(scene.clock));
  expectServed(await pending.answer, 'ondemand', 'hosted_a=outrun');
  await slow.gone;
  expect(attemptsOf(scene.gateway)).toEqual([
    ['hosted_a', 'turn', 'outrun'],
    ['ondemand', 'hedge', null],
  ]);
  expect((await scene.gateway.status()).circuits['ondemand']).toMatchObject({
    fails: 0,
    successes: 1,
  });
});

test('a fault in one of two hedged calls closes both, its own answer included, and ends the request', async () => {
  const scene = await startStill({ a: hang, b: hang });
  const { pending, slow, hedge } = await askHedged(scene, scene.a, scene.b);
  const used = vi.spyOn(PendingCall.prototype, 'used');
  used.mockImplementationOnce(() => expect.unreachable('a fault'));
  stall(chunk({ content: 'hi' }))(hedge);
  await Promise.all([slow.gone, hedge.gone]);
  expect((await pending.answer).status).toBe(500);
  await expectAtRest(scene.gateway);
});
