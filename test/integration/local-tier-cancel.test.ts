import { describe, expect, test } from 'vitest';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import { startChat } from '../support/client.ts';
import { turns } from '../support/report.ts';
import { PLAIN, STREAM } from '../support/scene.ts';
import { startMachine, startTier, type Machine, type Tier } from '../support/tier.ts';
import {
  answers,
  chunk,
  error,
  hang,
  headOnly,
  ROLE,
  type Script,
  stall,
  startUpstream,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';

const A = chunk({ content: 'a' });

/** No machine is occupied any more, and none is marked except for failures before the caller left. */
async function expectForgotten(
  tier: Tier,
  machines: readonly Machine[],
  fails: readonly number[],
): Promise<void> {
  await turns(tier);
  const { inFlight, requests } = tier.host.snapshot();
  expect(Object.values(inFlight)).toEqual([0, 0, 0, 0, 0]);
  expect(requests.map(({ state }) => state)).not.toContain('running');
  const { circuits } = await tier.status();
  expect(circuits['local']).toMatchObject({ fails: 0, successes: 0, open: false });
  for (const [index, { id }] of machines.entries()) {
    expect((await tier.provider(id)).concurrentRequests).toBe(0);
    const { fails: marks, successes } = circuits[id] ?? { fails: 0, successes: 0 };
    expect([marks, successes]).toEqual([fails[index], 0]);
  }
}

describe.each<[phase: string, script: Script, body: object]>([
  ['before the head', hang, STREAM],
  ['between head and content', headOnly, STREAM],
  ['while events are held', stall(ROLE, ': hi\n\n'), STREAM],
  ['before the head of an assembled answer', hang, PLAIN],
  ['while an answer is put together', stall(ROLE, A, A), PLAIN],
  ['while a whole answer is waited for', hang, { ...PLAIN, n: 2 }],
])('a caller that leaves a machine %s', (_phase, script, body) => {
  test('a caller that leaves before the commit aborts the call to a machine at once, and no circuit counts it', async () => {
    const machines = [await startMachine(script), await startMachine(answers('never asked'))];
    const hosted = await startUpstream(answers('never asked'));
    const [machine, peer] = machines as [Machine, Machine];
    const tier = await startTier(machines, at({ hosted_a: hosted.url, ondemand: hosted.url }));
    const took = await fastest(async () => {
      const pending = startChat(tier.url, body);
      const call = await machine.call(machine.calls.length + 1);
      await turns(tier);
      expect((await tier.provider(machine.id)).concurrentRequests).toBe(1);
      pending.leave();
      return millisecondsUntil(call.gone);
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await expectForgotten(tier, machines, [0, 0]);
    expect([peer.calls.length, hosted.calls.length, hosted.gets.length]).toEqual([0, 0, 0]);
  });
});

test('a caller that leaves after the commit aborts the call to a machine at once', async () => {
  const machine = await startMachine(stall(ROLE, A));
  const tier = await startTier([machine]);
  const took = await fastest(async () => {
    const pending = startChat(tier.url, STREAM);
    const call = await machine.call(machine.calls.length + 1);
    await pending.received('"a"');
    pending.leave();
    return millisecondsUntil(call.gone);
  });
  expect(took).toBeLessThan(AT_ONCE_MS);
  await expectForgotten(tier, [machine], [0]);
});

test('a caller that leaves the second machine leaves the first one’s failure, and no circuit of the pool counts it', async () => {
  const machines = [
    await startMachine(error(503)),
    await startMachine(hang),
    await startMachine(answers('never asked')),
  ];
  const [, second, third] = machines as [Machine, Machine, Machine];
  const tier = await startTier(machines);
  const took = await fastest(async () => {
    const pending = startChat(tier.url, STREAM);
    const call = await second.call(second.calls.length + 1);
    await turns(tier);
    pending.leave();
    return millisecondsUntil(call.gone);
  });
  expect(took).toBeLessThan(AT_ONCE_MS);
  await expectForgotten(tier, machines, [second.calls.length, 0, 0]);
  expect(third.calls).toHaveLength(0);
});

test('a caller that leaves during the pause before a retry prevents the retry', async () => {
  const machine = await startMachine(error(500));
  const tier = await startTier([machine]);
  const pending = startChat(tier.url, STREAM);
  await tier.clock.timer(50, 200);
  pending.leave();
  await turns(tier);
  tier.clock.advance(1000);
  await expectForgotten(tier, [machine], [1]);
  expect(machine.calls).toHaveLength(1);
});

test('a caller that leaves a probe frees the probes of the machine and of the local pool', async () => {
  const machine = await startMachine(error(503));
  const tier = await startTier([machine], { FAIL_THRESHOLD: '1', COOLDOWN_MS: '10000' });
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

test('a caller that leaves a probe in the pause before its retry frees the probe of the local pool', async () => {
  const machine = await startMachine(error(503), error(500));
  const tier = await startTier([machine], { FAIL_THRESHOLD: '1', COOLDOWN_MS: '10000' });
  await startChat(tier.url).answer;
  tier.clock.advance(10_000);
  const probe = startChat(tier.url);
  await tier.clock.timer(50, 200);
  probe.leave();
  await turns(tier);
  // The machine’s own cool-down has doubled; the tier’s has not, for it was not found wanting.
  tier.clock.advance(20_000);
  machine.script = answers('well again');
  expect(await startChat(tier.url).answer).toMatchObject({ status: 200, reason: 'none' });
});
