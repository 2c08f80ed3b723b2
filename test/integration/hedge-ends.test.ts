import { expect, test } from 'vitest';
import { expectServed } from '../support/client.ts';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import {
  askHedged,
  askSlow,
  attemptsOf,
  expectAtRest,
  LINE_MS,
  pass,
  PLAIN,
  startScene,
  STREAM,
} from '../support/scene.ts';
import { turns } from '../support/report.ts';
import { nextPause } from '../support/polling.ts';
import { answers, error, hang, ROLE, stall } from '../support/upstream.ts';

const DEAD = error(503);
const BAD = error(400, 'bad temperature');

test('a hedged call that fails makes room for a third call, which starts at once', async () => {
  const scene = await startScene({ hosted_a: hang, hosted_b: DEAD, hosted_c: hang });
  const { up, clock } = scene;
  const { pending, slow } = await askHedged(scene, up.hosted_a, up.hosted_b);
  await turns(scene);
  clock.advance(0);
  await answers('from c')(await up.hosted_c.call(1));
  expectServed(await pending.answer, 'hosted_c', 'hosted_a=outrun; hosted_b=http_503');
  await slow.gone;
  await expectAtRest(scene);
  expect(attemptsOf(scene)).toEqual([
    ['hosted_a', 'turn', 'outrun'],
    ['hosted_b', 'hedge', 'http_503'],
    ['hosted_c', 'hedge', null],
  ]);
});

test('an unexplained refusal of the slow call leaves the hedged call its chance', async () => {
  const scene = await startScene({ hosted_a: hang, hosted_b: hang });
  const { up } = scene;
  const { pending, slow, hedge } = await askHedged(scene, up.hosted_a, up.hosted_b);
  BAD(slow);
  await turns(scene);
  await answers('from b')(hedge);
  expectServed(await pending.answer, 'hosted_b', 'hosted_a=http_400');
  await expectAtRest(scene);
  expect((await scene.status()).circuits).toMatchObject({ hosted_a: { fails: 0 } });
});

test('a refusal of both calls is the answer of the slow one, and no other upstream is called', async () => {
  const scene = await startScene({ hosted_a: hang, hosted_b: hang, hosted_c: answers('no') });
  const { up } = scene;
  const { pending, slow, hedge } = await askHedged(scene, up.hosted_a, up.hosted_b);
  error(422, 'no such field')(hedge);
  await turns(scene);
  BAD(slow);
  const answer = await pending.answer;
  expect(answer).toMatchObject({
    status: 400,
    upstream: 'hosted_a',
    reason: 'hosted_a=http_400; hosted_b=http_422',
  });
  expect(answer.text).toContain('bad temperature');
  expect(up.hosted_c.calls).toHaveLength(0);
  await expectAtRest(scene);
});

test('a refused credential at local ends the hedged call, and the caller gets the refusal', async () => {
  const scene = await startScene({ local: hang, hosted_a: hang }, { HEDGE: 'all' });
  const { up } = scene;
  const { pending, slow, hedge } = await askHedged(scene, up.local, up.hosted_a);
  error(401, 'bad key')(slow);
  await hedge.gone;
  const answer = await pending.answer;
  expect(answer).toMatchObject({ status: 401, upstream: 'local', reason: 'none' });
  expect(answer.text).toContain('bad key');
});

test.each([
  ['a stream', STREAM],
  ['a plain answer', PLAIN],
])(
  'a caller of %s that leaves during a hedge aborts both calls at once, and nothing is counted',
  async (_caller, body) => {
    const scene = await startScene({
      hosted_a: hang,
      hosted_b: stall(ROLE),
      hosted_c: answers('never asked'),
    });
    const { up } = scene;
    const took = await fastest(async () => {
      const { pending, slow, hedge } = await askHedged(scene, up.hosted_a, up.hosted_b, body);
      await turns(scene);
      expect(scene.host.snapshot().inFlight).toMatchObject({ hosted_a: 1, hosted_b: 1 });
      pending.leave();
      return millisecondsUntil(Promise.all([slow.gone, hedge.gone]));
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await expectAtRest(scene);
    await pass(scene, 2 * LINE_MS);
    expect(up.hosted_c.calls).toHaveLength(0);
    const nothing = { fails: 0, successes: 0, consecutiveSlow: 0, ewmaTtft: null };
    const { circuits } = await scene.status();
    expect(circuits).toMatchObject({ hosted_a: nothing, hosted_b: nothing });
    expect(attemptsOf(scene)).toEqual([
      ['hosted_a', 'turn', null],
      ['hosted_b', 'hedge', null],
    ]);
  },
);

test('the cold start of an ondemand that is the hedge is polled while the slow call runs', async () => {
  const scene = await startScene({ hosted_a: hang, ondemand: [DEAD, answers('awake')] });
  const { up, clock } = scene;
  const { pending, call: slow } = await askSlow(scene, up.hosted_a);
  clock.advance(await nextPause(clock));
  expectServed(await pending.answer, 'ondemand', 'hosted_a=outrun');
  await slow.gone;
  expect(attemptsOf(scene)).toEqual([
    ['hosted_a', 'turn', 'outrun'],
    ['ondemand', 'hedge', null],
  ]);
  expect((await scene.status()).circuits['ondemand']).toMatchObject({ fails: 0, successes: 1 });
});
