import { expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import { startScene, STREAM } from '../support/scene.ts';
import { answers } from '../support/upstream.ts';

/** A streamed chat completion whose body has so many bytes. */
function promptOf(bytes: number): string {
  const of = (content: string) => {
    const messages = [{ role: 'user', content }];
    return JSON.stringify({ ...STREAM, messages });
  };
  return of('x'.repeat(bytes - of('').length));
}

test('a late first token of a long prompt is not slow if reading explains it', async () => {
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
