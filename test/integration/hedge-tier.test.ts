import { expect, test } from 'vitest';
import { expectServed } from '../support/client.ts';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import {
  ask,
  askSlow,
  attemptsOf,
  callsOf,
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

test('the next machine is called alongside a slow one by default', async () => {
  const tier = await startTierScene({ slow: hang, fast: hang }, UNASKED);
  const { slow, fast } = tier.own;
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
    expectServed(answer, 'local', `local/${slow.id}=outrun`);
    expect(answer.headers['x-gateway-provider']).toBe(fast.id);
    return ms;
  });
  expect(took).toBeLessThan(AT_ONCE_MS);
  await expectAtRest(tier);
  expect(tier.up.hosted_a.calls).toHaveLength(0);
  expect((await tier.provider(slow.id)).concurrentRequests).toBe(0);
  expect(attemptsOf(tier)).toEqual([
    [slow.id, 'turn', 'outrun'],
    [fast.id, 'hedge', null],
  ]);
  const circuits = await circuitsOf(tier);
  const successes = fast.calls.length;
  expect(circuits['local']).toMatchObject({ open: false, fails: 0, successes });
  expect(circuits[slow.id]).toMatchObject({ open: false, fails: 0, successes: 0 });
  expect(circuits[fast.id]).toMatchObject({ open: false, fails: 0, successes });
});

test('the local pool has failed once if both machines fail, and the paid upstream is called', async () => {
  const tier = await startTierScene({ slow: hang, other: hang }, PAID);
  const { slow, other } = tier.own;
  const { pending, call } = await askSlow(tier, slow);
  DEAD(await other.call(1));
  await turns(tier);
  expect((await circuitsOf(tier))['local']).toMatchObject({ fails: 0 });
  DEAD(call);
  expectServed(
    await pending.answer,
    'hosted_a',
    `local/${slow.id}=http_503; local/${other.id}=http_503`,
  );
  expect(await circuitsOf(tier)).toMatchObject({
    local: { fails: 1, successes: 0 },
    [slow.id]: { fails: 1 },
    [other.id]: { fails: 1 },
  });
  expect(callsOf(tier.own)).toEqual({ slow: 1, other: 1 });
});
