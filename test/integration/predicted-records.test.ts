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

describe('predicted slowness in the circuit', () => {
  const localOf = async (scene: Scene<'local'>) => (await scene.status()).circuits['local'];

  test('a predicted late first token of a long prompt is not slow in local’s circuit', async () => {
    const scene = await startTaught({ HEDGE: 'off' });
    for (let n = 0; n < 3; n += 1) await prompt(scene);
    expect(await localOf(scene)).toMatchObject({
      consecutiveSlow: 0,
      open: false,
      lastTtftMs: 8000,
    });
  });

  test('a late first token is slow in local’s circuit as long as nothing is predicted', async () => {
    const scene = await startTaught({ HEDGE: 'off' }, 18);
    await prompt(scene);
    expect(await localOf(scene)).toMatchObject({ consecutiveSlow: 1 });
  });

  test('the time beyond the prompt’s own counts as slow in local’s circuit', async () => {
    const scene = await startTaught({ HEDGE: 'off' });
    scene.up.local.script = reading(scene.clock, MS_PER_BYTE, LINE_MS + 100);
    await prompt(scene);
    expect(await localOf(scene)).toMatchObject({ consecutiveSlow: 1 });
    await prompt(scene, 1000);
    expect(await localOf(scene)).toMatchObject({ consecutiveSlow: 2 });
  });

  test('the time of a prompt that was read when local lost the race is not slow in its circuit', async () => {
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

  test('a silence that the prompt does not explain is slow in the circuit of a local that lost the race', async () => {
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

describe('predictions in the record of a request', () => {
  test('the record of a request shows the predicted TTFT alongside the real one', async () => {
    const scene = await startTaught({ HEDGE: 'off' });
    scene.up.local.script = reading(scene.clock, 2 * MS_PER_BYTE);
    await prompt(scene, SHORT);
    const [row, ...before] = scene.host.snapshot().requests;
    expect(row?.attempts).toMatchObject([{ predictedMs: 4000, firstContentMs: 8000 }]);
    expect(before).toHaveLength(20);
    for (const { attempts } of before) expect(attempts).toMatchObject([{ predictedMs: null }]);
  });

  test('the record of a request predicts from its start, and only for the machines of local', async () => {
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
