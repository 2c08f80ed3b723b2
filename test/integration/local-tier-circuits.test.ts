import { expect, test } from 'vitest';
import { chat, expectServed, HELLO, startChat } from '../support/client.ts';
import { startMachine, startTier, callCounts } from '../support/tier.ts';
import { answers, error, hang } from '../support/upstream.ts';
import { startTierScene } from '../support/scene.ts';
import { turns } from '../support/report.ts';

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
  expect(callCounts([dead, alive])).toEqual([5, 6]);
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
  expect(callCounts([sick, alive])).toEqual([2, 1]);
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

test('the circuit of the local pool opens if all machines have failed', async () => {
  const tier = await startTierScene({ a: error(503), b: error(503) }, PAID);
  for (let n = 0; n < 5; n += 1) await chat(tier.url);
  expect((await tier.status()).circuits['local']).toMatchObject({ open: true, fails: 5 });
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
  expect(callCounts([first, second])).toEqual([1, 1]);
  expect(await tier.status()).toMatchObject({ ok: true, local: { health: 'degraded' } });
});

test('the machine that comes back first is called if no other upstream is left, without a fallback reason', async () => {
  const { tier, first, second } = await startOut();
  first.script = answers('well again');
  expectServed(await chat(tier.url), 'local');
  expect(callCounts([first, second])).toEqual([2, 1]);
  expect((await tier.status()).circuits).toMatchObject({
    local: { open: false },
    [first.id]: { open: false },
    [second.id]: { open: true },
  });
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
