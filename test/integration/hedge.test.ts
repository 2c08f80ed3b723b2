import { describe, expect, test } from 'vitest';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import { expectServed, startChat } from '../support/client.ts';
import {
  ask,
  askHedged,
  attemptsOf,
  callsOf,
  expectAtRest,
  LINE_MS,
  pass,
  PLAIN,
  startStill,
  STREAM,
  askNobody,
} from '../support/scene.ts';
import { turns } from '../support/report.ts';
import { answers, chunk, DONE, hang, ROLE, stall, STOP } from '../support/upstream.ts';

const A = chunk({ content: 'a' });
const REST = STOP + DONE;

describe.each([
  ['a stream', STREAM],
  ['a plain answer', PLAIN],
])('for a caller of %s', (_caller, body) => {
  test('no hedge starts before the hedge delay, and exactly one starts at it', async () => {
    const scene = await startStill({ a: hang, b: hang, c: hang });
    const { a, b, c, clock } = scene;
    const { pending } = await ask(scene, a, body);
    await pass(scene, LINE_MS - 1);
    expect(callsOf({ a, b, c })).toEqual({ a: 1, b: 0, c: 0 });
    clock.advance(1);
    const hedge = await b.call(1);
    // Two are as many as there may be, however slow both are.
    await pass(scene, 3 * LINE_MS);
    expect(callsOf({ a, b, c })).toEqual({ a: 1, b: 1, c: 0 });
    await answers('from b')(hedge);
    expect(await pending.answer).toMatchObject({ status: 200, upstream: 'hosted_b' });
  });

  test.each(['slow', 'hedged'])(
    'the %s call wins the race if its content is first, and the other one is aborted at once',
    async (winner) => {
      const scene = await startStill({ a: hang, b: hang });
      const { a, b } = scene;
      const isSlow = winner === 'slow';
      const [won, lost] = isSlow
        ? (['hosted_a', 'hosted_b'] as const)
        : (['hosted_b', 'hosted_a'] as const);
      const took = await fastest(async () => {
        const { pending, slow, hedge } = await askHedged(scene, a, b, body);
        await answers('from the winner')(isSlow ? slow : hedge);
        const ms = await millisecondsUntil((isSlow ? hedge : slow).gone);
        const answer = await pending.answer;
        expectServed(answer, won, isSlow ? 'none' : 'hosted_a=outrun');
        expect(answer.text).toContain('from');
        expect(answer.text).not.toContain('error');
        return ms;
      });
      expect(took).toBeLessThan(AT_ONCE_MS);
      await expectAtRest(scene.gateway);
      expect(attemptsOf(scene.gateway)).toEqual([
        ['hosted_a', 'turn', isSlow ? null : 'outrun'],
        ['hosted_b', 'hedge', isSlow ? 'outrun' : null],
      ]);
      const { circuits } = await scene.gateway.status();
      expect(circuits[won]).toMatchObject({ fails: 0, successes: (isSlow ? a : b).calls.length });
      expect(circuits[lost]).toMatchObject({ fails: 0, successes: 0 });
      expect(circuits['hosted_b']).toMatchObject({ consecutiveSlow: 0 });
    },
  );
});

test('events without content neither stop the hedge delay nor win the race', async () => {
  const silent = stall(ROLE, ': waiting\n\n', chunk({ content: '' }));
  const scene = await startStill({ a: silent, b: silent });
  const { a, b, clock } = scene;
  const { pending, call: first } = await ask(scene, a);
  await turns(scene);
  clock.advance(LINE_MS);
  const second = await b.call(1);
  await turns(scene);
  expect([first.socket.destroyed, second.socket.destroyed]).toEqual([false, false]);
  second.res.end(A + REST);
  const answer = await pending.answer;
  expectServed(answer, 'hosted_b', 'hosted_a=outrun');
  // What came before the content comes along.
  expect(answer.text).toBe(ROLE + ': waiting\n\n' + chunk({ content: '' }) + A + REST);
  await first.gone;
});

test('a changed hedge delay holds for the next request, not for one that runs', async () => {
  const scene = await startStill({ a: hang, b: answers('from b') });
  const { a, b, clock, url } = scene;
  const [before] = [startChat(url, STREAM), await a.call(1)];
  await scene.gateway.set({ circuit: { ttftThresholdMs: 100 } });
  await pass(scene, LINE_MS - 1);
  expect(b.calls).toHaveLength(0);
  clock.advance(1);
  await before.answer;
  const [after] = [startChat(url, STREAM), await a.call(2)];
  clock.advance(100);
  expectServed(await after.answer, 'hosted_b', 'hosted_a=outrun');
  await scene.gateway.set({ routing: { hedge: 'off' } });
  const [last, call] = [startChat(url, STREAM), await a.call(3)];
  await pass(scene, LINE_MS);
  expect(b.calls).toHaveLength(2);
  await answers('from a')(call);
  expectServed(await last.answer, 'hosted_a');
});

test('an assembled answer wins the race by its first content, although it is sent when it is whole', async () => {
  const scene = await startStill({ a: stall(ROLE), b: stall(ROLE) });
  const { a, b, clock } = scene;
  const { pending, slow, hedge } = await askHedged(scene, a, b, PLAIN);
  hedge.res.write(A);
  await slow.gone;
  // So long as it goes on it may take its time; nobody else is started beside it.
  clock.advance(2 * LINE_MS);
  hedge.res.end(chunk({ content: 'b' }) + REST);
  const answer = await pending.answer;
  expectServed(answer, 'hosted_b', 'hosted_a=outrun');
  expect(JSON.parse(answer.text)).toMatchObject({ choices: [{ message: { content: 'ab' } }] });
  expect(callsOf({ a, b })).toEqual({ a: 1, b: 1 });
});

test.each([
  ['with assembly switched off', PLAIN, { HOSTED_A_ASSEMBLE: 'false' }],
  ['of several choices', { ...PLAIN, n: 2 }, {}],
])('a whole answer (%s) is never slow', async (_why, body, settings) => {
  const scene = await startStill({ a: hang, b: answers('never') }, settings);
  const { a, b } = scene;
  const { pending, call } = await ask(scene, a, body);
  await pass(scene, 4 * LINE_MS);
  expect(b.calls).toHaveLength(0);
  await answers('from a')(call);
  expectServed(await pending.answer, 'hosted_a');
});

/** Whether a request whose upstream is silent for three lines is hedged; it is answered in the end. */
async function isHedged(scene: Awaited<ReturnType<typeof startStill<'a' | 'b'>>>) {
  const { a, b } = scene;
  const before = b.calls.length;
  const { pending, call: slow } = await ask(scene, a);
  await pass(scene, LINE_MS);
  await pass(scene, 2 * LINE_MS);
  if (b.calls.length === before) await answers('late')(slow);
  return (await pending.answer).upstream === 'hosted_b';
}

test('three requests may be hedged at once, and then one in twenty', async () => {
  // Its circuit stays closed.
  const settings = { TTFT_SLOW_THRESHOLD: '100' };
  const scene = await startStill({ a: hang, b: answers('b') }, settings);
  for (let n = 1; n <= 3; n += 1) expect(await isHedged(scene)).toBe(true);
  expect(await isHedged(scene)).toBe(false);
  await askNobody(scene, 20);
  expect(await isHedged(scene)).toBe(true);
  expect(await isHedged(scene)).toBe(false);
});
