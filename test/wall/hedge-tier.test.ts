import { describe, expect, test } from 'vitest';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import { chat, startChat } from '../support/client.ts';
import {
  ask,
  askHedged,
  attemptsOf,
  expectAtRest,
  LINE_MS,
  pass,
  PLAIN,
  STREAM,
} from '../support/scene.ts';
import { turns } from '../support/report.ts';
import { startMachine, startTier, type Machine, type Tier } from '../support/tier.ts';
import {
  answers,
  chunk,
  cut,
  DONE,
  error,
  hang,
  ROLE,
  startUpstream,
  STOP,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';

const DEAD = error(503);
const A = chunk({ content: 'a' });
/** Counts as a request, and says nothing of the machine. */
const REFUSAL = error(401, 'not you');
/** Heartbeats do not come in here: machines are too long silent after 45 s. */
const COOLDOWN_MS = 10_000;

const callsOf = (machines: readonly Pick<Machine, 'calls'>[]) =>
  machines.map(({ calls }) => calls.length);

/** A tier in which each request may be hedged once. */
const startHedged = (
  machines: readonly Machine[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Tier> => startTier(machines, { HEDGE_BUDGET: '100', ...settings });

describe('among the owner’s own machines', () => {
  test('the next one is asked beside a slow one, without a word in the settings', async () => {
    const [slow, fast] = [await startMachine(hang), await startMachine(hang)];
    const hosted = await startUpstream(answers('never asked'));
    const tier = await startHedged([slow, fast], at({ hosted_a: hosted.url }));
    const took = await fastest(async () => {
      const n = slow.calls.length + 1;
      const { pending, call } = await ask(tier, slow);
      await pass(tier, LINE_MS - 1);
      expect(fast.calls).toHaveLength(n - 1);
      tier.clock.advance(1);
      const hedge = await fast.call(n);
      expect((await tier.provider(slow.id)).concurrentRequests).toBe(1);
      expect((await tier.provider(fast.id)).concurrentRequests).toBe(1);
      await answers('from the fast one')(hedge);
      const ms = await millisecondsUntil(call.gone);
      const answer = await pending.answer;
      expect(answer).toMatchObject({ upstream: 'local', reason: `local/${slow.id}=outrun` });
      expect(answer.headers['x-gateway-provider']).toBe(fast.id);
      return ms;
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await expectAtRest(tier);
    expect(hosted.calls).toHaveLength(0);
    expect((await tier.provider(slow.id)).concurrentRequests).toBe(0);
    expect(attemptsOf(tier)).toEqual([
      [slow.id, 'turn', 'outrun'],
      [fast.id, 'hedge', null],
    ]);
    const { circuits } = await tier.status();
    const successes = fast.calls.length;
    expect(circuits['local']).toMatchObject({ open: false, fails: 0, successes });
    expect(circuits[slow.id]).toMatchObject({ open: false, fails: 0, successes: 0 });
    expect(circuits[fast.id]).toMatchObject({ open: false, fails: 0, successes });
  });

  test('the slow one may still win, and then no upstream was passed over', async () => {
    const [slow, other] = [await startMachine(hang), await startMachine(hang)];
    const tier = await startHedged([slow, other]);
    const { pending, slow: call, hedge } = await askHedged(tier, slow, other, PLAIN);
    await answers('late')(call);
    const answer = await pending.answer;
    expect(answer).toMatchObject({ status: 200, upstream: 'local', reason: 'none' });
    expect(answer.headers['x-gateway-provider']).toBe(slow.id);
    await hedge.gone;
    expect((await tier.status()).circuits).toMatchObject({
      local: { fails: 0, successes: 1 },
      [other.id]: { fails: 0, successes: 0 },
    });
  });

  test('no more than two run; a third is started once one has ended', async () => {
    const machines = [
      await startMachine(REFUSAL, hang),
      await startMachine(hang),
      await startMachine(hang),
    ];
    const [slow, failing, third] = machines as [Machine, Machine, Machine];
    const tier = await startHedged(machines, { LOCAL_TIMEOUT_MS: '180000' });
    await chat(tier.url);
    const { pending, hedge } = await askHedged(tier, slow, failing);
    await pass(tier, 2 * LINE_MS);
    expect(callsOf(machines)).toEqual([2, 1, 0]);
    await DEAD(hedge);
    await turns(tier);
    tier.clock.advance(0);
    await answers('from the third')(await third.call(1));
    expect(await pending.answer).toMatchObject({
      status: 200,
      reason: `local/${slow.id}=outrun; local/${failing.id}=http_503`,
    });
    expect(callsOf(machines)).toEqual([2, 1, 1]);
  });

  test('a caller that leaves aborts both at once, and neither is counted', async () => {
    const machines = [await startMachine(hang), await startMachine(hang)];
    const [slow, other] = machines as [Machine, Machine];
    const tier = await startHedged(machines);
    const took = await fastest(async () => {
      const { pending, slow: first, hedge } = await askHedged(tier, slow, other);
      pending.leave();
      return millisecondsUntil(Promise.all([first.gone, hedge.gone]));
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await expectAtRest(tier);
    const { circuits } = await tier.status();
    for (const id of ['local', slow.id, other.id]) {
      expect(circuits[id]).toMatchObject({ open: false, fails: 0, successes: 0 });
    }
    for (const { id } of machines) expect((await tier.provider(id)).concurrentRequests).toBe(0);
  });

  test('both may fail: the pool has failed once, and the paid upstream is called', async () => {
    const [slow, other] = [await startMachine(hang), await startMachine(hang)];
    const hosted = await startUpstream(answers('paid for'));
    const tier = await startHedged([slow, other], at({ hosted_a: hosted.url }));
    const { pending, call } = await ask(tier, slow);
    tier.clock.advance(LINE_MS);
    await DEAD(await other.call(1));
    await turns(tier);
    expect((await tier.status()).circuits['local']).toMatchObject({ fails: 0 });
    await DEAD(call);
    expect(await pending.answer).toMatchObject({
      upstream: 'hosted_a',
      reason: `local/${slow.id}=http_503; local/${other.id}=http_503`,
    });
    expect((await tier.status()).circuits).toMatchObject({
      local: { fails: 1, successes: 0 },
      [slow.id]: { fails: 1 },
      [other.id]: { fails: 1 },
    });
    expect(callsOf([slow, other])).toEqual([1, 1]);
  });

  test('a hedge that wins and then breaks leaves a pool that is well: one was only slow', async () => {
    const [slow, broken] = [await startMachine(hang), await startMachine(cut(ROLE, A))];
    const hosted = await startUpstream(answers('paid for'));
    const ondemand = await startUpstream(answers('never asked'));
    const others = at({ hosted_a: hosted.url, ondemand: ondemand.url });
    const tier = await startHedged([slow, broken], others);
    const { pending } = await ask(tier, slow, PLAIN);
    tier.clock.advance(LINE_MS);
    expect(await pending.answer).toMatchObject({
      upstream: 'hosted_a',
      reason: `local/${slow.id}=outrun; local/${broken.id}=bad_response`,
    });
    expect((await tier.status()).circuits).toMatchObject({
      local: { fails: 0, successes: 0, open: false },
      [slow.id]: { fails: 0, successes: 0 },
      [broken.id]: { fails: 1 },
    });
    expect(callsOf([slow, broken])).toEqual([1, 1]);
    // The tier is lost for this request all the same.
    expect((await ondemand.get(1)).path).toBe('/health');
  });

  test('a hedge that finds fault with the caller’s credential is no word against the slow one', async () => {
    const machines = [
      await startMachine(REFUSAL, REFUSAL, hang),
      await startMachine(REFUSAL),
      await startMachine(answers('never asked')),
    ];
    const [slow, strict] = machines as [Machine, Machine];
    const tier = await startHedged(machines);
    for (const _ of [1, 2]) await chat(tier.url);
    const { pending, slow: call } = await askHedged(tier, slow, strict);
    await turns(tier);
    await pass(tier, LINE_MS);
    await answers('late')(call);
    const answer = await pending.answer;
    expect(answer).toMatchObject({ status: 200, reason: 'none' });
    expect(answer.headers['x-gateway-provider']).toBe(slow.id);
    expect(callsOf(machines)).toEqual([3, 1, 0]);
  });

  test('one that is half-open is passed by', async () => {
    const machines = [
      await startMachine(error(400, 'the prompt is too long'), hang),
      await startMachine(DEAD, hang),
      await startMachine(answers('hi')),
    ];
    const [slow, sick, well] = machines as [Machine, Machine, Machine];
    const tier = await startHedged(machines, { FAIL_THRESHOLD: '1', COOLDOWN_MS: '2000' });
    await chat(tier.url);
    tier.clock.advance(2000);
    const pending = startChat(tier.url, STREAM);
    const first = await Promise.race([slow.call(2), sick.call(2).then(() => null)]);
    if (first === null) throw new Error('the sick one was asked first');
    tier.clock.advance(LINE_MS);
    const answer = await pending.answer;
    expect(answer.headers['x-gateway-provider']).toBe(well.id);
    expect(callsOf(machines)).toEqual([2, 1, 2]);
    expect((await tier.status()).circuits[sick.id]).toMatchObject({
      open: true,
      cooldownRemainingMs: 0,
      fails: 1,
    });
  });

  test('one that is half-open and was passed by is asked as the probe in its turn', async () => {
    const [slow, sick] = [
      await startMachine(error(400, 'the prompt is too long'), hang),
      await startMachine(DEAD, answers('well again')),
    ];
    const tier = await startHedged([slow, sick], { FAIL_THRESHOLD: '1', COOLDOWN_MS: '2000' });
    await chat(tier.url);
    tier.clock.advance(2000);
    const { pending, call } = await ask(tier, slow);
    await pass(tier, LINE_MS);
    expect(callsOf([slow, sick])).toEqual([2, 1]);
    await DEAD(call);
    expect(await pending.answer).toMatchObject({ reason: `local/${slow.id}=http_503` });
    expect(attemptsOf(tier)).toEqual([
      [slow.id, 'turn', 'http_503'],
      [sick.id, 'turn', null],
    ]);
    expect((await tier.status()).circuits[sick.id]).toMatchObject({ open: false });
  });

  test('while the pool is probed a hedge continues the probe of the one that it beat', async () => {
    const machines = [await startMachine(DEAD, hang), await startMachine(DEAD, hang)];
    const [slow, other] = machines as [Machine, Machine];
    const hosted = await startUpstream(answers('paid for'));
    const settings = { FAIL_THRESHOLD: '1', COOLDOWN_MS: String(COOLDOWN_MS) };
    const tier = await startHedged(machines, { ...at({ hosted_a: hosted.url }), ...settings });
    await chat(tier.url);
    for (const { id } of machines) await tier.post(`circuits/${id}/reset`);
    tier.clock.advance(COOLDOWN_MS);
    const {
      pending,
      hedge: { res },
    } = await askHedged(tier, slow, other);
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(A);
    await pending.received('"a"');
    expect(await chat(tier.url)).toMatchObject({ reason: 'local=circuit_open' });
    res.end(STOP + DONE);
    expect(await pending.answer).toMatchObject({ reason: `local/${slow.id}=outrun` });
    await turns(tier);
    expect((await tier.status()).circuits['local']).toMatchObject({ open: false });
  });

  test('one that was slow has its own circuit opened for it, and no other', async () => {
    const [slow, fast] = [await startMachine(hang), await startMachine(answers('hi'))];
    const tier = await startHedged([slow, fast], { TTFT_SLOW_THRESHOLD: '1' });
    const { pending } = await ask(tier, slow);
    tier.clock.advance(LINE_MS);
    await pending.answer;
    expect((await tier.status()).circuits).toMatchObject({
      local: { open: false, fails: 0, consecutiveSlow: 0, successes: 1 },
      [slow.id]: { open: true, fails: 0, successes: 0 },
      [fast.id]: { open: false, fails: 0, successes: 1 },
    });
    expect(await chat(tier.url)).toMatchObject({ upstream: 'local', reason: 'none' });
    expect(callsOf([slow, fast])).toEqual([1, 2]);
  });

  test('one that was slow is not asked first again: its mean has risen', async () => {
    const [slow, fast] = [await startMachine(hang), await startMachine(answers('hi'))];
    const tier = await startHedged([slow, fast]);
    const { pending } = await ask(tier, slow);
    tier.clock.advance(LINE_MS);
    await pending.answer;
    for (let n = 0; n < 3; n += 1) expect(await chat(tier.url)).toMatchObject({ reason: 'none' });
    expect(callsOf([slow, fast])).toEqual([1, 4]);
  });
});

describe('from the owner’s own machines to a paid upstream', () => {
  test('there is no way while local is only slow', async () => {
    const machines = [await startMachine(REFUSAL, REFUSAL, hang), await startMachine(hang)];
    const [slow, other] = machines as [Machine, Machine];
    const hosted = await startUpstream(answers('never asked'));
    const tier = await startHedged(machines, at({ hosted_a: hosted.url }));
    for (const _ of [1, 2]) await chat(tier.url);
    const { pending, hedge } = await askHedged(tier, slow, other);
    await DEAD(await slow.call(3));
    await turns(tier);
    // One of them is left, and as slow as the first.
    await pass(tier, 3 * LINE_MS);
    expect(hosted.calls).toHaveLength(0);
    await answers('late')(hedge);
    expect(await pending.answer).toMatchObject({
      upstream: 'local',
      reason: `local/${slow.id}=http_503`,
    });
  });

  test('a lone machine is not hedged', async () => {
    const alone = await startMachine(hang);
    const hosted = await startUpstream(answers('never asked'));
    const tier = await startHedged([alone], at({ hosted_a: hosted.url, ondemand: hosted.url }));
    const { pending, call } = await ask(tier, alone);
    await pass(tier, 4 * LINE_MS);
    expect(hosted.calls).toHaveLength(0);
    await answers('late')(call);
    expect(await pending.answer).toMatchObject({ upstream: 'local', reason: 'none' });
  });

  test('HEDGE=all opens one, behind the own ones', async () => {
    const machines = [await startMachine(REFUSAL, hang), await startMachine(hang)];
    const [slow, other] = machines as [Machine, Machine];
    const hosted = await startUpstream(answers('paid for'));
    const tier = await startHedged(machines, { ...at({ hosted_a: hosted.url }), HEDGE: 'all' });
    await chat(tier.url);
    const { pending, call } = await ask(tier, slow);
    tier.clock.advance(LINE_MS);
    await DEAD(await other.call(1));
    await turns(tier);
    tier.clock.advance(0);
    expect(await pending.answer).toMatchObject({
      upstream: 'hosted_a',
      reason: `local/${slow.id}=outrun; local/${other.id}=http_503`,
    });
    await call.gone;
    await expectAtRest(tier);
    expect((await tier.status()).circuits).toMatchObject({
      local: { open: false, fails: 0, successes: 0 },
      [slow.id]: { open: false, fails: 0, successes: 0 },
      [other.id]: { open: false, fails: 1, successes: 0 },
      hosted_a: { fails: 0, successes: 1 },
    });
  });

  test('and where the own one wins, the paid one is ended at once', async () => {
    const alone = await startMachine(hang);
    const hosted = await startUpstream(hang);
    const tier = await startHedged([alone], { ...at({ hosted_a: hosted.url }), HEDGE: 'all' });
    const took = await fastest(async () => {
      const { pending, slow: call, hedge } = await askHedged(tier, alone, hosted);
      await answers('own')(call);
      const ms = await millisecondsUntil(hedge.gone);
      expect(await pending.answer).toMatchObject({ upstream: 'local', reason: 'none' });
      return ms;
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
  });

  test('a pool whose probe lost its hedge releases the probe', async () => {
    const machine = await startMachine(DEAD, hang);
    const hosted = await startUpstream(answers('paid for'));
    const tier = await startHedged([machine], {
      ...at({ hosted_a: hosted.url }),
      HEDGE: 'all',
      FAIL_THRESHOLD: '1',
      COOLDOWN_MS: String(COOLDOWN_MS),
    });
    await chat(tier.url);
    tier.clock.advance(COOLDOWN_MS);
    const { pending } = await ask(tier, machine);
    tier.clock.advance(LINE_MS);
    expect(await pending.answer).toMatchObject({ reason: `local/${machine.id}=outrun` });
    const { circuits } = await tier.status();
    expect(circuits['local']).toMatchObject({ open: true, cooldownRemainingMs: 0, fails: 1 });
    // The machine itself was heard of: it is still slow.
    expect(circuits[machine.id]).toMatchObject({
      open: true,
      cooldownRemainingMs: 2 * COOLDOWN_MS,
    });
    tier.clock.advance(2 * COOLDOWN_MS);
    machine.script = answers('well again');
    expect(await chat(tier.url)).toMatchObject({ upstream: 'local', reason: 'none' });
    expect((await tier.status()).circuits).toMatchObject({
      local: { open: false },
      [machine.id]: { open: false },
    });
  });
});
