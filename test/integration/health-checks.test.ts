import { expect, test } from 'vitest';
import { chat, chatStream, expectServed, HELLO, startChat } from '../support/client.ts';
import type { TestGateway } from '../support/gateway.ts';
import { circuitOf, turns } from '../support/report.ts';
import { startMachine, startTier } from '../support/tier.ts';
import {
  answers,
  chunk,
  DONE,
  error,
  hang,
  json,
  reset,
  ROLE,
  stall,
  startUpstream,
  STOP,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startStill } from '../support/scene.ts';

const DEAD = error(503, 'out of order');
const MINUTE_MS = 60_000;
/** The first check comes so long after an opening, the next ones at this pace. */
const FIRST_MS = 15_000;
const PACE_MS = 5000;

const well = json(200, { status: 'ok' });
const ill = error(503);

/** A gateway whose `id` has failed once, which opened its circuit; another one serves meanwhile. */
async function startOpened(
  id: 'local' | 'hosted_a',
  settings: Readonly<Record<string, string>> = {},
) {
  const up = await startUpstream(DEAD);
  const { gateway, clock } = await startStill(
    { c: answers('from the other') },
    { ...at({ [id]: up.url }), FAIL_THRESHOLD: '1', ...settings },
  );
  await chat(gateway.url);
  // A fixed engine is asked for its models as well, and what it is.
  const checks = () => up.gets.filter(({ path }) => path === '/health' || path === '/models');
  return { clock, up, gateway, checks };
}

/** Time passes, and what was sent in it is answered. */
async function pass(gateway: TestGateway, clock: { advance(ms: number): void }, ms: number) {
  clock.advance(ms);
  await turns(gateway, 3);
}

test.each([
  ['hosted_a', ['/models']],
  ['local', ['/health']],
] as const)(
  'an upstream with an open circuit (%s) is checked after 15 s, and called next once it answers',
  async (id, paths) => {
    const { clock, up, gateway, checks } = await startOpened(id);
    up.answerGet = well;
    up.script = answers('well again');
    // A jump would leave no time for the engine's list of models, and an engine that does not list them is checked at once.
    for (let n = 1; n < 3; n += 1) await pass(gateway, clock, 5000);
    expect(checks()).toEqual([]);
    await pass(gateway, clock, 5000);
    expect(checks().map(({ path }) => path)).toEqual(paths);
    expect(circuitOf(gateway, id)).toMatchObject({ open: true, cooldownRemainingMs: 0 });
    expectServed(await chat(gateway.url), id);
    expect(circuitOf(gateway, id)).toMatchObject({ open: false });
    // A healthy upstream is not checked.
    await pass(gateway, clock, 10_000);
    expect(checks()).toHaveLength(1);
  },
);

test('an upstream with an open circuit is checked every 5 s while it is down, and every 15 s after ten minutes', async () => {
  const { clock, up, gateway, checks } = await startOpened('hosted_a', { COOLDOWN_MS: '3600000' });
  up.answerGet = ill;
  await pass(gateway, clock, FIRST_MS);
  for (let n = 2; n <= 118; n += 1) {
    await pass(gateway, clock, PACE_MS - 1);
    expect(checks()).toHaveLength(n - 1);
    await pass(gateway, clock, 1);
    expect(checks()).toHaveLength(n);
  }
  expect(clock.ticks()).toBe(600_000);
  await pass(gateway, clock, 14_999);
  expect(checks()).toHaveLength(118);
  await pass(gateway, clock, 1);
  expect(checks()).toHaveLength(119);
  expect(up.calls).toHaveLength(1);
  expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ cooldownRemainingMs: 2_985_000 });
});

test('an upstream that refuses a health check, or is silent, is checked again', async () => {
  const { clock, up, gateway, checks } = await startOpened('hosted_a');
  await up.close();
  await pass(gateway, clock, FIRST_MS);
  await up.reopen();
  up.answerGet = () => {};
  await pass(gateway, clock, PACE_MS);
  expect(checks()).toHaveLength(1);
  await pass(gateway, clock, 4000);
  up.answerGet = well;
  await pass(gateway, clock, 1000);
  expect(checks()).toHaveLength(2);
  expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ cooldownRemainingMs: 0 });
});

test.each([
  ['there is no such route', 404],
  ['a key is asked for', 401],
])('a health check passes if %s (%i)', async (_says, status) => {
  const { clock, up, gateway } = await startOpened('local');
  up.answerGet = json(status, {});
  // A jump leaves no time for the engine's list of models either, and its engine is checked for that as well.
  await pass(gateway, clock, FIRST_MS - 1);
  await pass(gateway, clock, 1);
  await expect.poll(() => circuitOf(gateway, 'local')).toMatchObject({ cooldownRemainingMs: 0 });
});

test('a health check carries the key and the headers of its upstream, and is never a completion', async () => {
  const { clock, up, gateway, checks } = await startOpened('hosted_a', {
    HOSTED_A_API_KEY: 'sk-ours',
    HOSTED_A_HEADERS: '{"X-Team":"blue"}',
  });
  up.answerGet = well;
  await pass(gateway, clock, FIRST_MS);
  const sent = { authorization: 'Bearer sk-ours', 'x-team': 'blue' };
  expect(checks()[0]?.headers).toMatchObject(sent);
  expect(up.calls).toHaveLength(1);
});

test('an upstream that fails quickly once more is checked again 15 s later, and its cool-down does not grow', async () => {
  const { clock, up, gateway, checks } = await startOpened('hosted_a');
  up.answerGet = well;
  for (let n = 1; n <= 6; n += 1) {
    await pass(gateway, clock, FIRST_MS);
    expect(await chat(gateway.url)).toMatchObject({ reason: 'hosted_a=http_503' });
    expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ cooldownRemainingMs: MINUTE_MS });
    expect((await chat(gateway.url)).reason).toBe('hosted_a=circuit_open');
    expect(checks()).toHaveLength(n);
  }
  up.script = answers('well again');
  await pass(gateway, clock, FIRST_MS);
  expectServed(await chat(gateway.url), 'hosted_a');
});

test('an upstream waits for its cool-down if health checks are switched off', async () => {
  const { clock, up, gateway, checks } = await startOpened('hosted_a', { HEALTH_CHECKS: 'false' });
  up.answerGet = well;
  await pass(gateway, clock, MINUTE_MS - 1);
  expect([checks().length, circuitOf(gateway, 'hosted_a')?.cooldownRemainingMs]).toEqual([0, 1]);
});

test('an upstream that costs money is not checked while none may be spent', async () => {
  const { clock, up, gateway, checks } = await startOpened('hosted_a');
  up.answerGet = well;
  await gateway.set({ routing: { forceZero: true } });
  for (let n = 0; n < 6; n += 1) await pass(gateway, clock, PACE_MS);
  expect(checks()).toEqual([]);
  await gateway.set({ routing: { forceZero: false } });
  await pass(gateway, clock, PACE_MS);
  expect(checks()).toHaveLength(1);
});

test('an upstream is not checked if that might wake up a paid machine', async () => {
  const { gateway, ondemand, clock } = await startStill(
    { ondemand: { script: reset, get: well } },
    { FAIL_THRESHOLD: '1', ONDEMAND_WARMUP: 'false' },
  );
  expect(await chat(gateway.url)).toMatchObject({ reason: 'ondemand=unreachable' });
  expect(circuitOf(gateway, 'ondemand')).toMatchObject({ open: true });
  for (let n = 0; n < 10; n += 1) await pass(gateway, clock, PACE_MS);
  expect(ondemand.gets).toEqual([]);
});

test('an upstream that hangs and passes its checks waits for its cool-down, which grows', async () => {
  const { gateway, a, clock } = await startStill(
    { a: hang, b: answers('from the other') },
    { TTFT_SLOW_THRESHOLD: '1', HEDGE: 'off' },
  );
  const cooldownMs = () => circuitOf(gateway, 'hosted_a')?.cooldownRemainingMs;
  const timeOut = async () => {
    const pending = startChat(gateway.url);
    await a.call(a.calls.length + 1);
    clock.advance(30_000);
    expect(await pending.answer).toMatchObject({ reason: 'hosted_a=timeout' });
  };
  await timeOut();
  expect(cooldownMs()).toBe(MINUTE_MS);
  a.answerGet = well;
  for (let n = 0; n < 11; n += 1) await pass(gateway, clock, PACE_MS);
  expect(cooldownMs()).toBe(5000);
  await pass(gateway, clock, 5000);
  await timeOut();
  expect(cooldownMs()).toBe(2 * MINUTE_MS);
  for (let n = 0; n < 11; n += 1) await pass(gateway, clock, PACE_MS);
  expect(cooldownMs()).toBe(65_000);
  expect(a.calls).toHaveLength(2);
});

const engine = (status: string) => json(200, { status: 'ok', engine_health: { status } });

test('a machine of the local pool is checked through its agent, which knows its gateway and its engine', async () => {
  const [sick, other] = [await startMachine(DEAD), await startMachine(answers('other'))];
  const tier = await startTier([sick, other], { FAIL_THRESHOLD: '1' });
  await chat(tier.url);
  sick.answerGet = engine('unreachable');
  await pass(tier, tier.clock, FIRST_MS);
  expect(sick.gets.map(({ path }) => path)).toEqual(['/health']);
  expect(sick.gets[0]?.headers['x-gateway-token']).toMatch(/^[0-9a-f]{64}$/);
  expect(circuitOf(tier, sick.id)).toMatchObject({ cooldownRemainingMs: 45_000 });
  sick.answerGet = engine('ok');
  await pass(tier, tier.clock, PACE_MS);
  expect(circuitOf(tier, sick.id)).toMatchObject({ open: true, cooldownRemainingMs: 0 });
  expect(other.gets).toEqual([]);
});

test('a machine of the local pool that is well again opens the pool for its requests', async () => {
  const [first, second] = [await startMachine(DEAD), await startMachine(DEAD)];
  const hosted = await startUpstream(answers('paid for'));
  const tier = await startTier([first, second], {
    FAIL_THRESHOLD: '1',
    ...at({ hosted_a: hosted.url }),
  });
  expect((await chat(tier.url)).upstream).toBe('hosted_a');
  first.answerGet = ill;
  second.answerGet = well;
  second.script = answers('well again');
  await pass(tier, tier.clock, FIRST_MS);
  expect(circuitOf(tier, 'local')).toMatchObject({ open: true, cooldownRemainingMs: 0 });
  expectServed(await chatStream(tier.url), 'local');
  expect(circuitOf(tier, 'local')).toMatchObject({ open: false });
});

test.each([
  ['streams', true],
  ['is assembled', false],
])(
  'a probe whose answer %s lets others through from its first token until one fails, and closes the circuit at its end',
  async (_how, stream) => {
    const { clock, up, gateway } = await startOpened('hosted_a');
    clock.advance(MINUTE_MS);
    up.script = stall(ROLE);
    const probe = startChat(gateway.url, { ...HELLO, stream });
    const { res } = await up.call(2);
    expect((await chat(gateway.url)).reason).toBe('hosted_a=circuit_open');
    res.write(chunk({ content: 'a' }));
    await turns(gateway);
    expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ open: true, cooldownRemainingMs: 0 });
    const { conditions } = gateway.host.snapshot().judgement;
    expect(conditions.hosted_a).toMatchObject({ kind: 'probe', isRunning: false });
    up.script = answers('next to it');
    expectServed(await chat(gateway.url), 'hosted_a');
    up.script = DEAD;
    expect((await chat(gateway.url)).reason).toBe('hosted_a=http_503');
    expect((await chat(gateway.url)).reason).toBe('hosted_a=circuit_open');
    res.end(STOP + DONE);
    await probe.answer;
    expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ open: false, consecutiveFails: 0 });
  },
);
