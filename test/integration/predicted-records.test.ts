import { describe, expect, test } from 'vitest';
import {
  BELIEVED_MS,
  LONG,
  MS_PER_BYTE,
  prompt,
  promptOf,
  reading,
  SHORT,
  startTaught,
} from '../support/predictions.ts';
import { askHedged, askSlow, LINE_MS, type Scene } from '../support/scene.ts';
import { answers, error, hang } from '../support/upstream.ts';

describe('the circuit', () => {
  const localOf = async (scene: Scene<'local'>) => (await scene.status()).circuits['local'];

  test('does not hold a long prompt’s late first token against local, if it was predicted', async () => {
    const scene = await startTaught({ HEDGE: 'off' });
    for (let n = 0; n < 3; n += 1) await prompt(scene);
    expect(await localOf(scene)).toMatchObject({
      consecutiveSlow: 0,
      open: false,
      lastTtftMs: 8000,
    });
  });

  test('holds it against local as long as nothing is predicted', async () => {
    const scene = await startTaught({ HEDGE: 'off' }, 18);
    await prompt(scene);
    expect(await localOf(scene)).toMatchObject({ consecutiveSlow: 1 });
  });

  test('holds against local what comes on top of the prompt’s own time', async () => {
    const scene = await startTaught({ HEDGE: 'off' });
    scene.up.local.script = reading(scene.clock, MS_PER_BYTE, LINE_MS + 100);
    await prompt(scene);
    expect(await localOf(scene)).toMatchObject({ consecutiveSlow: 1 });
    await prompt(scene, 1000);
    expect(await localOf(scene)).toMatchObject({ consecutiveSlow: 2 });
  });

  test('does not hold it against one that was outrun while it read', async () => {
    const scene = await startTaught();
    const { up, clock } = scene;
    clock.advance(BELIEVED_MS + 1);
    up.local.script = hang;
    const { pending } = await askSlow(scene, up.local, promptOf(LONG));
    // The hedge waits until the prompt should have been read.
    clock.advance(LONG * MS_PER_BYTE - LINE_MS);
    await pending.answer;
    expect(await localOf(scene)).toMatchObject({ consecutiveSlow: 0 });
  });

  test('holds against one that was outrun the silence that its prompt does not explain', async () => {
    const scene = await startTaught();
    const { up, clock } = scene;
    up.local.script = hang;
    up.hosted_a.script = hang;
    const { pending, hedge } = await askHedged(scene, up.local, up.hosted_a, promptOf(1000));
    clock.advance(1000 * MS_PER_BYTE);
    await answers('from a')(hedge);
    await pending.answer;
    expect(await localOf(scene)).toMatchObject({ consecutiveSlow: 1 });
  });
});

describe('the record', () => {
  test('shows what was predicted alongside what came', async () => {
    const scene = await startTaught({ HEDGE: 'off' });
    scene.up.local.script = reading(scene.clock, 2 * MS_PER_BYTE);
    await prompt(scene, SHORT);
    const [row, ...before] = scene.host.snapshot().requests;
    expect(row?.attempts).toMatchObject([{ predictedMs: 4000, firstContentMs: 8000 }]);
    expect(before).toHaveLength(20);
    for (const { attempts } of before) expect(attempts).toMatchObject([{ predictedMs: null }]);
  });

  test('predicts from the start of the request, and nothing of upstreams that are not one’s own', async () => {
    const scene = await startTaught();
    scene.up.hosted_a.script = (call) => {
      scene.clock.advance(1500);
      return error(503)(call);
    };
    await prompt(scene);
    expect(scene.host.snapshot().requests[0]?.attempts).toMatchObject([
      { upstream: 'hosted_a', startMs: 0, predictedMs: null },
      { upstream: 'local', startMs: 1500, predictedMs: 9500, firstContentMs: 9500 },
    ]);
  });
});
