import { expect, test } from 'vitest';
import { chat, expectServed, HELLO, startChat } from '../support/client.ts';
import {
  type Machine,
  type MachineGiven,
  startMachine,
  startMachineAs,
  startTier,
  type Tier,
} from '../support/tier.ts';
import { answers, error, hang, reset, startUpstream } from '../support/upstream.ts';
import { ask, askSlow, attemptsOf, startStill, startTierScene } from '../support/scene.ts';
import { turns } from '../support/report.ts';
import { at } from '../support/words.ts';

const PAID = { hosted_a: answers('paid for') };
const SENSITIVE = { FAIL_THRESHOLD: '1', COOLDOWN_MS: '10000' };

test('the circuit of a machine opens by itself, and that of the local pool stays closed while any machine serves', async () => {
  const [dead, alive] = [await startMachine(error(503)), await startMachine(answers('hi'))];
  const tier = await startTier([dead, alive]);
  for (let n = 0; n < 5; n += 1) {
    expect((await chat(tier.url)).reason).toBe(`local/${dead.id}=http_503`);
  }
  expect((await chat(tier.url)).reason).toBe('none');
  const { circuits } = await tier.status();
  expect(circuits).toMatchObject({
    local: { open: false, fails: 0, successes: 6 },
    [dead.id]: { open: true, fails: 5, consecutiveFails: 5, cooldownRemainingMs: 60_000 },
    [alive.id]: { open: false, fails: 0, successes: 6 },
  });
  expect([dead.calls.length, alive.calls.length]).toEqual([5, 6]);
});

test('the circuit of a machine is closed by its owner, and only by its id', async () => {
  const [sick, alive] = [await startMachine(error(503)), await startMachine(answers('hi'))];
  const tier = await startTier([sick, alive], { FAIL_THRESHOLD: '1' });
  await chat(tier.url);
  expect((await tier.status()).circuits[sick.id]).toMatchObject({ open: true });
  const unknown = await tier.post('circuits/prv_nobody/reset');
  expect([unknown.status, unknown.text]).toEqual([404, expect.stringContaining('prv_nobody')]);
  expect(await tier.post(`circuits/${sick.id}/reset`)).toMatchObject({ status: 200 });
  expect((await tier.status()).circuits[sick.id]).toMatchObject({ open: false, fails: 1 });
  sick.script = answers('well again');
  await chat(tier.url);
  expect([sick.calls.length, alive.calls.length]).toEqual([2, 1]);
});

test('the circuit of the local pool stays closed if three machines have failed and a fourth could serve', async () => {
  const dead = { first: error(503), second: error(502), third: error(504) };
  const machines = { ...dead, fourth: answers('hi') };
  const tier = await startTierScene(machines, { hosted_a: answers('$') });
  const served: string[] = [];
  for (let n = 0; n < 7; n += 1) served.push((await chat(tier.url)).upstream);
  expect(served).toEqual([...Array.from({ length: 5 }, () => 'hosted_a'), 'local', 'local']);
  const circuit = { open: false, fails: 0, successes: 2 };
  expect((await tier.status()).circuits['local']).toMatchObject(circuit);
});

test('the circuit of the local pool admits the next request once a probe is refused for its key', async () => {
  const tier = await startTierScene({ a: error(503), b: error(503) }, PAID, SENSITIVE);
  const machines = Object.values(tier.own);
  await chat(tier.url);
  tier.clock.advance(10_000);
  for (const machine of machines) machine.script = error(401);
  const refused = await chat(tier.url, HELLO, { authorization: 'Bearer of-the-caller' });
  expect(refused.status).toBe(401);
  for (const machine of machines) machine.script = answers('well again');
  expectServed(await chat(tier.url), 'local');
});

/** Two machines whose circuits open half a second apart, the first one's at 0. */
async function startOut(paid = {} as typeof PAID) {
  const tier = await startTierScene({ first: error(503), second: hang }, paid, SENSITIVE);
  const answer = chat(tier.url);
  const call = await tier.own.second.call(1);
  tier.clock.advance(500);
  error(503)(call);
  await answer;
  return { ...tier.own, tier };
}

test('a local pool whose machines are all out is skipped as circuit_open, and the hosted upstream is called', async () => {
  const { tier, first, second } = await startOut(PAID);
  expectServed(await chat(tier.url), 'hosted_a', 'local=circuit_open');
  expect([first.calls.length, second.calls.length]).toEqual([1, 1]);
  expect(await tier.status()).toMatchObject({ ok: true, local: { health: 'degraded' } });
});

test('a local pool whose machines have been too slow is not said to fail', async () => {
  const tier = await startTierScene({ only: hang }, PAID, { TTFT_SLOW_THRESHOLD: '1' });
  const { pending, call } = await askSlow(tier, tier.own.only);
  tier.clock.advance(1);
  await answers('late')(call);
  await pending.answer;
  const { local } = tier.host.snapshot().judgement.conditions;
  expect(local).toMatchObject({ kind: 'cooling', cause: 'slow', times: 1 });
});

test('the machine that comes back first is called if no other upstream is left, without a fallback reason', async () => {
  const { tier, first, second } = await startOut();
  first.script = answers('well again');
  expectServed(await chat(tier.url), 'local');
  expect([first.calls.length, second.calls.length]).toEqual([2, 1]);
  expect((await tier.status()).circuits).toMatchObject({
    local: { open: false },
    [first.id]: { open: false },
    [second.id]: { open: true },
  });
});

test('a source that is slow but answers is called by every request if no other is left', async () => {
  const { a, url, clock } = await startStill({ a: hang }, { TTFT_SLOW_THRESHOLD: '1' });
  const slow = await askSlow({ url, clock }, a);
  clock.advance(1);
  await answers('late')(slow.call);
  await slow.pending.answer;
  const others = [await ask({ url, clock }, a), await ask({ url, clock }, a)];
  for (const { pending, call } of others) {
    await answers('well')(call);
    expectServed(await pending.answer, 'hosted_a');
  }
});

test.each([
  ['30000', '5'],
  ['2000', '3'],
])(
  'a request that only waits for the probe of another one is told to come again soon (%s ms)',
  async (timeoutMs, wait) => {
    const settings = { FAIL_THRESHOLD: '1', COOLDOWN_MS: '1000', HOSTED_A_TIMEOUT_MS: timeoutMs };
    const { a, url, clock } = await startStill({ a: [error(503), hang] }, settings);
    await chat(url);
    const probe = await ask({ url, clock }, a);
    const { status, headers } = await chat(url);
    expect([status, headers['retry-after']]).toEqual([503, wait]);
    await answers('well')(probe.call);
    expectServed(await probe.pending.answer, 'hosted_a');
  },
);

test('a forced call that finds nothing listening is followed by one to the next excluded upstream', async () => {
  const { a, b, url } = await startStill({ a: error(503), b: error(503) }, SENSITIVE);
  await chat(url);
  await a.close();
  b.script = answers('well again');
  expectServed(await chat(url), 'hosted_b', 'hosted_a=unreachable');
});

test('forced calls that find nothing listening end after as many as there are upstreams', async () => {
  const machines = await Promise.all(Array.from({ length: 7 }, () => startMachine(error(503))));
  const tier = await startTier(machines, SENSITIVE);
  for (let n = 0; n < 3; n += 1) await chat(tier.url);
  for (const machine of machines) await machine.close();
  await chat(tier.url);
  expect(attemptsOf(tier).map(([, , reason]) => reason)).toEqual(Array(5).fill('unreachable'));
});

test('a forced call that found nothing listening after a wait is the last', async () => {
  const scripts = { a: error(503), b: error(503) };
  const { a, clock, url, gateway } = await startStill(scripts, SENSITIVE);
  await chat(url);
  a.script = hang;
  const { pending, call } = await ask({ url, clock }, a);
  clock.advance(1001);
  await reset(call);
  await pending.answer;
  expect(attemptsOf(gateway)).toEqual([['hosted_a', 'turn', 'unreachable']]);
});

test('a caller that leaves a probe frees the probes of the machine and of the local pool', async () => {
  const machine = await startMachine(error(503));
  const tier = await startTier([machine], SENSITIVE);
  const reason = `local/${machine.id}=http_503`;
  const pending = startChat(tier.url);
  expect(await pending.answer).toMatchObject({ status: 503, reason });
  tier.clock.advance(10_000);
  machine.script = hang;
  const probe = startChat(tier.url);
  const call = await machine.call(2);
  await turns(tier);
  probe.leave();
  await call.gone;
  await turns(tier);
  const { circuits } = await tier.status();
  for (const id of ['local', machine.id]) {
    expect(circuits[id]).toMatchObject({ open: true, cooldownRemainingMs: 0, fails: 1 });
  }
  machine.script = answers('well again');
  expect(await startChat(tier.url).answer).toMatchObject({ status: 200, reason: 'none' });
});

const pending = { verification: { state: 'pending', address: null } } as const;
const paused = { record: { status: 'paused' } } as const;

/** A hosted upstream that answers and an on-demand one that could be warmed up. */
async function startOthers() {
  const hosted = await startUpstream(answers('paid for'));
  const ondemand = await startUpstream(answers('never asked'));
  return { ondemand, settings: at({ hosted_a: hosted.url, ondemand: ondemand.url }) };
}

const warmedAt = async (tier: Tier) => (await tier.status()).ondemand_warmup_detail.lastWarmupAt;

test.each<[says: string, given: readonly MachineGiven[]]>([
  ['wait for their verification', [pending]],
  ['have failed theirs', [{ verification: { state: 'failed', address: null } }]],
  ['are draining', [{ record: { status: 'draining' } }]],
  ['have lost their engine', [{ record: { status: 'degraded' } }]],
  ['have said goodbye', [{ record: { status: 'offline' } }]],
  ['are paused, but for one that waits for its verification', [paused, pending]],
])(
  'a local pool whose machines %s has no provider, and ondemand is warmed up',
  async (_says, given) => {
    const { settings, ondemand } = await startOthers();
    const machines = await Promise.all(given.map((each) => startMachineAs(each)));
    const tier = await startTier(machines, settings);
    expectServed(await chat(tier.url), 'hosted_a', 'local=no_provider');
    expect((await ondemand.get(1)).path).toBe('/health');
    expect(await warmedAt(tier)).toBe('2026-01-01T00:00:00.000Z');
    expect(machines.flatMap(({ calls }) => calls)).toEqual([]);
  },
);

const checks = [
  { name: 'GPU count >0', passed: false, error: 'no GPU reported' },
  { name: 'latency <10s', passed: false, error: 'check missing' },
] as const;
const noGpu = { verification: { state: 'failed', address: null, checks } } as const;
const withEngine = (status: 'unreachable' | 'unauthorized' | 'loading', code: number) =>
  ({ record: { status: 'degraded', engine_health: { status, code } } }) as const;

test.each<[says: string, given: MachineGiven, cause: string]>([
  ['waits', pending, 'is being verified'],
  ['has no GPU', noGpu, 'has failed "GPU count >0"'],
  ['is draining', { record: { status: 'draining' } }, 'is held back by its owner'],
  ['has signed off', { record: { status: 'offline' } }, 'has signed off'],
  ['has lost its engine', withEngine('unreachable', 0), 'has no engine that answers'],
  ['loads a model', withEngine('loading', 503), 'is loading a model'],
  ['wants a key', withEngine('unauthorized', 401), 'has an engine that answers HTTP 401'],
])(
  'the 503 of a local pool whose only machine %s names the machine and that cause',
  async (_says, given, cause) => {
    const machine = await startMachineAs(given);
    const { text } = await chat((await startTier([machine])).url);
    const { error: told } = JSON.parse(text) as { error: { message: string } };
    expect(told.message).toContain(` local had no machine available (${machine.id} ${cause}). `);
  },
);

test('an error of the gateway has the names that machines have in the dashboard, of three at most', async () => {
  const waiting = await Promise.all(Array.from({ length: 5 }, () => startMachineAs(pending)));
  const errorOf = async (machines: readonly Machine[]) => {
    const tier = await startTier(machines);
    await tier.call('PUT', `providers/${machines[0]?.id}/note`, { name: 'Attic', note: '' });
    return (await chat(tier.url)).text;
  };
  const named = /\(Attic is being verified; prv_[^;]+; prv_[^;]+; and 2 more\)/;
  expect(await errorOf(waiting)).toMatch(named);
  const failing = [await startMachine(error(500)), await startMachine(error(500))];
  expect(await errorOf(failing)).toContain('local/Attic answered HTTP 500');
});

test('a local pool whose machines are silent has no provider after 45 s, and not before', async () => {
  const { settings } = await startOthers();
  const machine = await startMachine(answers('hi'));
  const tier = await startTier([machine], settings);
  tier.clock.advance(44_999);
  expectServed(await chat(tier.url), 'local');
  tier.clock.advance(1);
  expect(await chat(tier.url)).toMatchObject({ reason: 'local=no_provider' });
  expect(await warmedAt(tier)).not.toBeNull();
});

test('a local pool whose machines are all paused by their owners is paused, and keeps no paid upstream warm', async () => {
  const { settings, ondemand } = await startOthers();
  const tier = await startTier(
    [await startMachineAs(paused), await startMachineAs(paused)],
    settings,
  );
  expectServed(await chat(tier.url), 'hosted_a', 'local=paused');
  expect([await warmedAt(tier), ondemand.gets.length]).toEqual([null, 0]);
});

test('while no money may be spent, requests go to the machines of the pool and no paid upstream', async () => {
  const { settings, ondemand } = await startOthers();
  const machines = [await startMachine(error(503)), await startMachine(answers('hi'))];
  const tier = await startTier(machines, settings);
  const zero = { 'x-gateway-force-zero': '1' };
  expect(await chat(tier.url, HELLO, zero)).toMatchObject({ status: 200, upstream: 'local' });
  for (const machine of machines) machine.script = error(503);
  await machines[1]?.close();
  expect(await chat(tier.url, HELLO, zero)).toMatchObject({
    status: 502,
    reason: expect.stringMatching(/hosted_a=zero_spend; ondemand=zero_spend$/),
  });
  expect(ondemand.gets).toHaveLength(0);
});

test('a fixed engine is called in place of the machines, and gets no token of theirs', async () => {
  const machine = await startMachine(answers('never asked'));
  const engine = await startUpstream(answers('fixed'));
  const tier = await startTier([machine], at({ local: engine.url }));
  const answer = await chat(tier.url);
  expectServed(answer, 'local');
  expect(answer.headers).not.toHaveProperty('x-gateway-provider');
  expect((await engine.call(1)).headers).not.toHaveProperty('x-gateway-token');
  expect(machine.calls).toHaveLength(0);
});
