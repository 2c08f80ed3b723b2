import { expect, test } from 'vitest';
import { startChat } from '../support/client.ts';
import { turns } from '../support/report.ts';
import { startMachine, startTier } from '../support/tier.ts';
import { answers, error, hang } from '../support/upstream.ts';

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
