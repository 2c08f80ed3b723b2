import { expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import { turns } from '../support/report.ts';
import { startMachine, startTier } from '../support/tier.ts';
import { answers, error, hang, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

test.each([1, 2, 3])(
  'each of %d silent machines has the whole timeout, so that two are no worse than one',
  async (count) => {
    const machines = await Promise.all(Array.from({ length: count }, () => startMachine(hang)));
    const hosted = await startUpstream(answers('paid for'));
    const settings = { ...at({ hosted_a: hosted.url }), KEEP_ALIVE_MS: '0', HEDGE: 'off' };
    const tier = await startTier(machines, settings);
    const answer = chat(tier.url);
    for (const [turn, machine] of machines.entries()) {
      await machine.call(1);
      await turns(tier);
      // Not a moment before its time.
      tier.clock.advance(60_000 - 1);
      await turns(tier);
      expect((machines[turn + 1] ?? hosted).calls).toHaveLength(0);
      tier.clock.advance(1);
    }
    expect(await answer).toMatchObject({
      upstream: 'hosted_a',
      reason: machines.map(({ id }) => `local/${id}=timeout`).join('; '),
    });
  },
);

test.each([500, 502])('a lone %d of a machine without peers is retried there', async (code) => {
  const machine = await startMachine(error(code), answers('better'));
  const tier = await startTier([machine]);
  const answer = chat(tier.url);
  await machine.call(1);
  tier.clock.advance(await tier.clock.timer(50, 200));
  expect(await answer).toMatchObject({ status: 200, upstream: 'local', reason: 'none' });
  expect(machine.calls).toHaveLength(2);
  expect((await tier.status()).circuits).toMatchObject({
    local: { fails: 0, successes: 1 },
    [machine.id]: { fails: 1, successes: 1, consecutiveFails: 0 },
  });
});
