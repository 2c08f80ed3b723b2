import { expect, test } from 'vitest';
import { chat, chatStream, textOf } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { begun, goesOn, outcomeOf, startHandover, TEXT } from '../support/handover.ts';
import { startMachine, startTier, startReporting } from '../support/tier.ts';
import { answers, cut, error, json, REFUSED_URL } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore, startStill, startTierScene } from '../support/scene.ts';
import { circuitOf } from '../support/report.ts';

const DEAD = error(503, 'out of order');
const NEXT_FAILS = { FAIL_THRESHOLD: '1' };

/** Two machines of which the first has failed, which opened its circuit, and could serve again. */
async function startRecovered() {
  const machines = { first: DEAD, second: answers('second') };
  const tier = await startTierScene(machines, {}, NEXT_FAILS);
  const { first, second } = tier.own;
  expect(await chat(tier.url)).toMatchObject({ reason: `local/${first.id}=http_503` });
  first.script = answers('back again');
  expect(circuitOf(tier, first.id)).toMatchObject({ open: true, cooldownRemainingMs: 60_000 });
  return { first, second, tier };
}

test('a machine in its cool-down is called when the last healthy one fails, and the caller gets its answer', async () => {
  const { first, second, tier } = await startRecovered();
  second.script = DEAD;
  const answer = await chatStream(tier.url);
  expect(answer).toMatchObject({ status: 200, reason: `local/${second.id}=http_503` });
  expect(textOf(answer.text)).toBe('back again');
  expect(circuitOf(tier, first.id)).toMatchObject({ open: false });
  expect(await chat(tier.url)).toMatchObject({ status: 200, reason: 'none' });
});

test('a machine in its cool-down that fails again is named once, and its cool-down is as it was', async () => {
  const { first, second, tier } = await startRecovered();
  tier.clock.advance(5000);
  first.script = DEAD;
  second.script = DEAD;
  const reason = `local/${second.id}=http_503; local/${first.id}=http_503`;
  expect(await chat(tier.url)).toMatchObject({ status: 503, reason });
  expect([first.calls.length, second.calls.length]).toEqual([2, 2]);
  expect(circuitOf(tier, first.id)).toMatchObject({ open: true, cooldownRemainingMs: 55_000 });
});

test('an upstream in its cool-down is called when the last healthy one fails, and is named in routing order', async () => {
  const { gateway, a, b } = await startStill(
    { a: [DEAD, DEAD], b: [answers('b'), DEAD, DEAD] },
    { ...at({ ondemand: REFUSED_URL }), ...NEXT_FAILS },
  );
  await chat(gateway.url);
  const reason = 'hosted_a=http_503; hosted_b=http_503; ondemand=unreachable';
  expect(await chat(gateway.url)).toMatchObject({ status: 502, reason });
  expect([a.calls.length, b.calls.length]).toEqual([2, 2]);
  a.script = answers('back again');
  await fetch(`${gateway.url}/healthz`);
  expect(await chat(gateway.url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
});

test('an upstream that is excluded for its bill or by a person is still not called', async () => {
  const { gateway, a } = await startBefore({ a: error(402), b: [answers('b'), DEAD] });
  await chat(gateway.url);
  const reason = 'hosted_a=quota; hosted_b=http_503';
  expect(await chat(gateway.url)).toMatchObject({ status: 503, reason });
  expect(a.calls).toHaveLength(1);
});

test('a fault of the request goes back at once, and no machine in its cool-down is called', async () => {
  const { first, second, tier } = await startRecovered();
  second.script = json(400, '{"error":{"message":"bad temperature"}}');
  expect(await chat(tier.url)).toMatchObject({ status: 400, upstream: 'local', reason: 'none' });
  expect(first.calls).toHaveLength(1);
});

test('an upstream in its cool-down continues a stream that the last healthy one broke off', async () => {
  const { a, b, c, gateway } = await startHandover([DEAD, answers('b'), DEAD], NEXT_FAILS);
  expect(await chatStream(gateway.url)).toMatchObject({ reason: 'hosted_a=http_503' });
  b.script = cut(...begun('b', 3));
  a.script = goesOn('a');
  const { text } = await chatStream(gateway.url);
  expect(outcomeOf(text)).toEqual({ content: TEXT, isWhole: true });
  expect([a, b, c].map(({ calls }) => calls.length)).toEqual([2, 2, 1]);
  expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ open: false });
});

/** Two machines, the second of which has failed and has an agent that beats. */
async function startBeating() {
  const clock = createManualClock();
  const machine = await startReporting(DEAD, clock);
  const tier = await startTier([machine, await startMachine(answers('other'))], NEXT_FAILS, clock);
  const beat = (status: string, engine: string) =>
    machine.beat(tier.url, { status, engine_health: { status: engine, code: 0 } });
  await beat('idle', 'ok');
  expect(await chat(tier.url)).toMatchObject({ reason: `local/${machine.id}=http_503` });
  const circuit = () => circuitOf(tier, machine.id);
  return { machine, tier, beat, circuit };
}

test('a machine whose agent reports its engine as well again is called with the next request', async () => {
  const { machine, tier, beat, circuit } = await startBeating();
  await beat('degraded', 'unreachable');
  expect(circuit()).toMatchObject({ cooldownRemainingMs: 60_000 });
  await beat('idle', 'ok');
  expect(circuit()).toMatchObject({ open: true, cooldownRemainingMs: 0 });
  machine.script = answers('well again');
  expect(await chat(tier.url)).toMatchObject({ status: 200, reason: 'none' });
  expect(machine.calls).toHaveLength(2);
  expect(circuit()).toMatchObject({ open: false });
});

test('a machine whose agent repeats its last report waits for its cool-down', async () => {
  const { beat, circuit } = await startBeating();
  await beat('idle', 'ok');
  await beat('serving', 'ok');
  expect(circuit()).toMatchObject({ cooldownRemainingMs: 60_000 });
});
