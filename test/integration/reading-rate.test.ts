import { expect, test } from 'vitest';
import { createManualClock } from '../support/clock.ts';
import { chat } from '../support/client.ts';
import { startWithHistory, temporaryDirectory } from '../support/gateway.ts';
import { startScene, STREAM } from '../support/scene.ts';
import { answers, chunk, DONE, ROLE, sse, startUpstream, STOP } from '../support/upstream.ts';
import { history, usageChunk } from '../support/usage.ts';

/** What the engine of these tests takes for a byte. */
const MS_PER_BYTE = 0.1;
const BYTES = 40_000;
const [TOKENS, CACHED] = [10_000, 9000];

/** A streamed chat completion whose body has so many bytes. */
function promptOf(bytes: number): string {
  const of = (content: string) => {
    const messages = [{ role: 'user', content }];
    return JSON.stringify({ ...STREAM, stream_options: { include_usage: true }, messages });
  };
  return of('x'.repeat(bytes - of('').length));
}

/** A gateway with an engine that has read so many prompts, which were new to it, and then one from its cache. */
async function afterReading(prompts: number) {
  const clock = createManualClock();
  const engine = await startUpstream();
  engine.script = (call) => {
    clock.advance(MS_PER_BYTE * call.body.length);
    return answers('read')(call);
  };
  const settings = { LOCAL_ENGINE_URL: engine.url };
  const gateway = await startWithHistory(settings, temporaryDirectory(), clock);
  for (let n = 1; n <= prompts; n += 1) await chat(gateway.url, promptOf(n * 1000));
  engine.script = sse(ROLE, chunk({ content: 'hi' }), STOP, usageChunk(TOKENS, 1, CACHED), DONE);
  expect(await chat(gateway.url, promptOf(BYTES))).toMatchObject({ upstream: 'local' });
  return history(gateway.url);
}

test('reading saved is what the engine would have taken for the cached part of a prompt, at its measured speed', async () => {
  const { today, points } = await afterReading(5);
  const expectedMs = (MS_PER_BYTE * BYTES * CACHED) / TOKENS;
  expect(today.cachedTokens).toBe(CACHED);
  expect(today.readingSavedMs).toBeGreaterThan(0.97 * expectedMs);
  expect(today.readingSavedMs).toBeLessThan(1.03 * expectedMs);
  const local = points.flatMap(({ upstreams }) => upstreams.local ?? []);
  expect(local.at(-1)).toMatchObject({
    cachedTokens: CACHED,
    readingSavedMs: today.readingSavedMs,
  });
});

test('a late first token of a long prompt is not slow where reading explains it', async () => {
  const scene = await startScene({ local: [] });
  const { up, clock, url } = scene;
  const circuit = async () => (await scene.status()).circuits['local'];
  const read = async (bytes: number, ms: number) => {
    up.local.script = (call) => {
      clock.advance(ms);
      return answers('read')(call);
    };
    await chat(url, promptOf(bytes));
  };
  await read(80_000, 8000);
  expect(await circuit()).toMatchObject({ consecutiveSlow: 1 });
  await read(85_000, 8500);
  expect(await circuit()).toMatchObject({ consecutiveSlow: 0 });
  await read(80_000, 20_000);
  expect(await circuit()).toMatchObject({ consecutiveSlow: 1 });
});
