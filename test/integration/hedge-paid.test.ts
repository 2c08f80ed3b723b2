import { expect, test } from 'vitest';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import { chat } from '../support/client.ts';
import {
  ask,
  askHedged,
  askSlow,
  circuitsOf,
  expectAtRest,
  LINE_MS,
  pass,
  startTierScene,
} from '../support/scene.ts';
import { turns } from '../support/report.ts';
import { answers, error, hang } from '../support/upstream.ts';

const PAID = { hosted_a: answers('paid for') };
const UNASKED = { hosted_a: answers('never asked') };
const DEAD = error(503);
/** Counts as a request, and says nothing of the machine. */
const REFUSAL = error(401, 'not you');
/** Heartbeats do not come in here: machines are too long silent after 45 s. */
const COOLDOWN_MS = 10_000;

test('no paid upstream is called while local is only slow', async () => {
  const tier = await startTierScene({ slow: [REFUSAL, REFUSAL, hang], other: hang }, UNASKED);
  const { slow, other } = tier.own;
  for (const _ of [1, 2]) await chat(tier.url);
  const { pending, hedge } = await askHedged(tier, slow, other);
  await DEAD(await slow.call(3));
  await turns(tier);
  // One of them is left, and as slow as the first.
  await pass(tier, 3 * LINE_MS);
  expect(tier.up.hosted_a.calls).toHaveLength(0);
  await answers('late')(hedge);
  expect(await pending.answer).toMatchObject({
    upstream: 'local',
    reason: `local/${slow.id}=http_503`,
  });
});

test('a lone machine is not hedged', async () => {
  const tier = await startTierScene(
    { alone: hang },
    { ...UNASKED, ondemand: answers('never asked') },
  );
  const { alone } = tier.own;
  const { pending, call } = await ask(tier, alone);
  await pass(tier, 4 * LINE_MS);
  expect(tier.up.hosted_a.calls).toHaveLength(0);
  await answers('late')(call);
  expect(await pending.answer).toMatchObject({ upstream: 'local', reason: 'none' });
});

test('HEDGE=all hedges to a paid upstream, after the machines of the local pool', async () => {
  const tier = await startTierScene({ slow: [REFUSAL, hang], other: hang }, PAID, {
    HEDGE: 'all',
  });
  const { slow, other } = tier.own;
  await chat(tier.url);
  const { pending, call } = await askSlow(tier, slow);
  await DEAD(await other.call(1));
  await turns(tier);
  tier.clock.advance(0);
  expect(await pending.answer).toMatchObject({
    upstream: 'hosted_a',
    reason: `local/${slow.id}=outrun; local/${other.id}=http_503`,
  });
  await call.gone;
  await expectAtRest(tier);
  expect(await circuitsOf(tier)).toMatchObject({
    local: { open: false, fails: 0, successes: 0 },
    [slow.id]: { open: false, fails: 0, successes: 0 },
    [other.id]: { open: false, fails: 1, successes: 0 },
    hosted_a: { fails: 0, successes: 1 },
  });
});

test('a paid hedged call is aborted at once where the machine wins the race', async () => {
  const tier = await startTierScene({ alone: hang }, { hosted_a: hang }, { HEDGE: 'all' });
  const { alone } = tier.own;
  const took = await fastest(async () => {
    const { pending, slow: call, hedge } = await askHedged(tier, alone, tier.up.hosted_a);
    await answers('own')(call);
    const ms = await millisecondsUntil(hedge.gone);
    expect(await pending.answer).toMatchObject({ upstream: 'local', reason: 'none' });
    return ms;
  });
  expect(took).toBeLessThan(AT_ONCE_MS);
});

test('a local pool whose probe lost the race releases the probe', async () => {
  const tier = await startTierScene({ machine: [DEAD, hang] }, PAID, {
    HEDGE: 'all',
    FAIL_THRESHOLD: '1',
    COOLDOWN_MS: String(COOLDOWN_MS),
  });
  const { machine } = tier.own;
  await chat(tier.url);
  tier.clock.advance(COOLDOWN_MS);
  const { pending } = await askSlow(tier, machine);
  expect(await pending.answer).toMatchObject({ reason: `local/${machine.id}=outrun` });
  const circuits = await circuitsOf(tier);
  expect(circuits['local']).toMatchObject({ open: true, cooldownRemainingMs: 0, fails: 1 });
  // The machine itself was heard of: it is still slow.
  expect(circuits[machine.id]).toMatchObject({
    open: true,
    cooldownRemainingMs: 2 * COOLDOWN_MS,
  });
  tier.clock.advance(2 * COOLDOWN_MS);
  machine.script = answers('well again');
  expect(await chat(tier.url)).toMatchObject({ upstream: 'local', reason: 'none' });
  expect(await circuitsOf(tier)).toMatchObject({
    local: { open: false },
    [machine.id]: { open: false },
  });
});
