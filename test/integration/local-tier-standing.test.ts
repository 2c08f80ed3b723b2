import { expect, test } from 'vitest';
import { chat, expectServed, HELLO } from '../support/client.ts';
import {
  machineAt,
  startMachine,
  startTier,
  type MachineGiven,
  type Tier,
} from '../support/tier.ts';
import { answers, error, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

/** A machine that is enrolled and that nobody may be sent to. */
const machineThat = async (given: MachineGiven) =>
  machineAt(await startUpstream(answers('never asked')), given);

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
    const machines = await Promise.all(given.map(machineThat));
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
const withEngine = (status: 'unreachable' | 'unauthorized', code: number) =>
  ({ record: { status: 'degraded', engine_health: { status, code } } }) as const;

test.each<[says: string, given: MachineGiven, cause: string]>([
  ['waits', pending, 'is being verified'],
  ['has no GPU', noGpu, 'has failed "GPU count >0"'],
  ['is draining', { record: { status: 'draining' } }, 'is held back by its owner'],
  ['has signed off', { record: { status: 'offline' } }, 'has signed off'],
  ['has lost its engine', withEngine('unreachable', 0), 'has no engine that answers'],
  ['wants a key', withEngine('unauthorized', 401), 'has an engine that answers HTTP 401'],
])(
  'the 503 of a local pool whose only machine %s names the machine and that cause',
  async (_says, given, cause) => {
    const machine = await machineThat(given);
    const { text } = await chat((await startTier([machine])).url);
    const { error: told } = JSON.parse(text) as { error: { message: string } };
    expect(told.message).toContain(` local had no machine available (${machine.id} ${cause}). `);
  },
);

test('the 503 of a local pool of many machines names three of them and the number of the others', async () => {
  const machines = await Promise.all(Array.from({ length: 5 }, () => machineThat(pending)));
  const { text } = await chat((await startTier(machines)).url);
  expect(text).toMatch(/\(prv_\w+ is being verified; prv_[^;]+; prv_[^;]+; and 2 more\)/);
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
  const tier = await startTier([await machineThat(paused), await machineThat(paused)], settings);
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
