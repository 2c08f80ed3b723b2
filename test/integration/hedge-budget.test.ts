import { expect, test } from 'vitest';
import { createManualClock } from '../support/clock.ts';
import { startControlled } from '../support/control.ts';
import { ask, askNobody, LINE_MS, pass, type Scene } from '../support/scene.ts';
import { answers, hang, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

type Pair = Scene<'hosted_a' | 'hosted_b'>;

/** A pair of upstreams of which one is silent, whose circuit stays closed. */
async function startPair(): Promise<Pair> {
  const clock = createManualClock();
  const up = { hosted_a: await startUpstream(hang), hosted_b: await startUpstream(answers('b')) };
  const controlled = await startControlled(
    {
      ...at({ hosted_a: up.hosted_a.url, hosted_b: up.hosted_b.url }),
      TTFT_SLOW_THRESHOLD: '100',
    },
    clock,
  );
  return { ...controlled, clock, up };
}

/**
 * Whether a request whose upstream is silent for three lines is hedged; it is answered in the end.
 */
async function isHedged(scene: Pair): Promise<boolean> {
  const { up } = scene;
  const before = up.hosted_b.calls.length;
  const { pending, call: slow } = await ask(scene, up.hosted_a);
  await pass(scene, LINE_MS);
  await pass(scene, 2 * LINE_MS);
  const hedged = up.hosted_b.calls.length > before;
  if (!hedged) await answers('late')(slow);
  expect(await pending.answer).toMatchObject({
    status: 200,
    upstream: hedged ? 'hosted_b' : 'hosted_a',
    reason: hedged ? 'hosted_a=outrun' : 'none',
  });
  return hedged;
}

test('three requests may be hedged at once, and then one in twenty', async () => {
  const scene = await startPair();
  for (let n = 1; n <= 3; n += 1) expect(await isHedged(scene)).toBe(true);
  expect(await isHedged(scene)).toBe(false);
  await askNobody(scene, 20);
  expect(await isHedged(scene)).toBe(true);
  expect(await isHedged(scene)).toBe(false);
});
