import { expect, test } from 'vitest';
import { ask, askHedged, callsOf, LINE_MS, pass, PLAIN, startScene } from '../support/scene.ts';
import { answers, chunk, DONE, hang, ROLE, stall, STOP } from '../support/upstream.ts';

const A = chunk({ content: 'a' });
const REST = STOP + DONE;

test('an assembled answer wins the race by its first content, although it is sent when it is whole', async () => {
  const scene = await startScene({ hosted_a: stall(ROLE), hosted_b: stall(ROLE) });
  const { up, clock } = scene;
  const {
    pending,
    slow: first,
    hedge: second,
  } = await askHedged(scene, up.hosted_a, up.hosted_b, PLAIN);
  second.res.write(A);
  await first.gone;
  // So long as it goes on it may take its time; nobody else is started beside it.
  clock.advance(2 * LINE_MS);
  second.res.end(chunk({ content: 'b' }) + REST);
  const answer = await pending.answer;
  expect(answer).toMatchObject({ upstream: 'hosted_b', reason: 'hosted_a=outrun' });
  expect(JSON.parse(answer.text)).toMatchObject({ choices: [{ message: { content: 'ab' } }] });
  expect(callsOf(up)).toEqual({ hosted_a: 1, hosted_b: 1 });
});

test.each([
  ['with assembly switched off', PLAIN, { HOSTED_A_ASSEMBLE: 'false' }],
  ['of several choices', { ...PLAIN, n: 2 }, {}],
])('a whole answer (%s) is never slow', async (_why, body, settings) => {
  const scene = await startScene({ hosted_a: hang, hosted_b: answers('never') }, settings);
  const { up } = scene;
  const { pending, call } = await ask(scene, up.hosted_a, body);
  await pass(scene, 4 * LINE_MS);
  expect(up.hosted_b.calls).toHaveLength(0);
  await answers('from a')(call);
  expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'none' });
});
