import { describe, expect, test } from 'vitest';
import { startChat } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { startControlled } from '../support/control.ts';
import { ask, askNobody, LINE_MS, pass, type Scene, startScene, STREAM } from '../support/scene.ts';
import { turns } from '../support/report.ts';
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

describe('a hosted upstream that hangs', () => {
  /** How long each of seven callers in a row waits, in seconds of the clock. */
  async function waitsOf(scene: Pair): Promise<number[]> {
    const { up, clock, url } = scene;
    const waits: number[] = [];
    for (let n = 0; n < 7; n += 1) {
      const before = clock.ticks();
      const asked = up.hosted_a.calls.length;
      const pending = startChat(url, STREAM);
      const wait = { isOver: false };
      const answer = pending.answer.finally(() => (wait.isOver = true));
      await turns(scene);
      while (!wait.isOver) {
        if (up.hosted_a.calls.length > asked) clock.advance(1000);
        await turns(scene);
      }
      expect((await answer).status).toBe(200);
      waits.push((clock.ticks() - before) / 1000);
    }
    return waits;
  }

  test('a hosted upstream that hangs costs three callers the default hedge delay, and then its circuit is open', async () => {
    const scene = await startScene({ hosted_a: hang, hosted_b: answers('b') });
    expect(await waitsOf(scene)).toEqual([5, 5, 5, 0, 0, 0, 0]);
    const { circuits } = await scene.status();
    expect(circuits['hosted_a']).toMatchObject({ open: true, fails: 0, consecutiveSlow: 3 });
    expect(scene.up.hosted_a.calls).toHaveLength(3);
  });
});
