import { expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import { ask, askSlow, circuitsOf, LINE_MS, pass, startTierScene } from '../support/scene.ts';
import { answers, error, hang } from '../support/upstream.ts';

const PAID = { hosted_a: answers('paid for') };
const UNASKED = { hosted_a: answers('never asked') };
const DEAD = error(503);
/** Heartbeats do not come in here: machines are too long silent after 45 s. */
const COOLDOWN_MS = 10_000;

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
