import { expect, test } from 'vitest';
import { createManualClock } from '../support/clock.ts';
import { chat } from '../support/client.ts';
import { startWithHistory, temporaryDirectory } from '../support/gateway.ts';
import { MS_PER_BYTE, promptOf, reading } from '../support/predictions.ts';
import { chunk, DONE, ROLE, sse, startUpstream, STOP } from '../support/upstream.ts';
import { history, usageChunk } from '../support/usage.ts';

const BYTES = 40_000;
const [TOKENS, CACHED] = [10_000, 9000];

/** A gateway with an engine that has read so many prompts, which were new to it, and then one from its cache. */
async function afterReading(prompts: number, settings: Readonly<Record<string, string>> = {}) {
  const clock = createManualClock();
  const engine = await startUpstream(reading(clock));
  const given = { LOCAL_ENGINE_URL: engine.url, ...settings };
  const gateway = await startWithHistory(given, temporaryDirectory(), clock);
  for (let n = 1; n <= prompts; n += 1) await chat(gateway.url, promptOf(n * 1000));
  engine.script = sse(ROLE, chunk({ content: 'hi' }), STOP, usageChunk(TOKENS, 1, CACHED), DONE);
  expect(await chat(gateway.url, promptOf(BYTES))).toMatchObject({ upstream: 'local' });
  return history(gateway.url);
}

test('reading saved is what the engine would have taken for the cached part of a prompt, at its measured speed', async () => {
  const { today, points } = await afterReading(20);
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

test.each([
  ['its speed is not measured yet', 19, {}],
  ['its times are those of warm and cold prompts together', 20, { AFFINITY: 'off' }],
])('reading saved is unknown while %s', async (_why, prompts, settings) => {
  const { today } = await afterReading(prompts, settings);
  expect(today).toMatchObject({ cachedTokens: CACHED, readingSavedMs: 0 });
});
