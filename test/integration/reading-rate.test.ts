import { expect, test } from 'vitest';
import { chat, expectServed } from '../support/client.ts';
import { turns } from '../support/report.ts';
import { ask, startStill, STREAM } from '../support/scene.ts';
import { usageChunk } from '../support/usage.ts';
import { answerChunks, answers, DONE, hang, sse } from '../support/upstream.ts';

/** A streamed chat completion whose body has so many bytes, without those of a picture. */
function promptOf(bytes: number, picture = ''): string {
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } };
  const of = (text: string) => {
    const messages = [
      { role: 'user', content: [...(picture === '' ? [] : [image]), { type: 'text', text }] },
    ];
    return JSON.stringify({ ...STREAM, messages });
  };
  return of('x'.repeat(bytes + picture.length - of('').length));
}

const TIMEOUT_MS = 60_000;

test('a prompt has the timeout and twice the time that reading takes, at 100 tokens a second if its engine has read none', async () => {
  const { a, local, clock, url } = await startStill(
    { local: hang, a: answers('paid') },
    { KEEP_ALIVE_MS: '0' },
  );
  const expectGivenUpAfter = async (limitMs: number, prompt = promptOf(20_000)) => {
    const n = a.calls.length;
    const { pending } = await ask({ url, clock }, local, JSON.parse(prompt));
    clock.advance(limitMs - 1);
    await turns({ url });
    expect(a.calls).toHaveLength(n);
    clock.advance(1);
    expectServed(await pending.answer, 'hosted_a', 'local=timeout');
  };
  await expectGivenUpAfter(TIMEOUT_MS + 2 * 48_000);
  // 1,600 tokens of a picture, and 3,400 of the rest.
  const picture = promptOf(13_600, 'QUJD'.repeat(32_000));
  await expectGivenUpAfter(TIMEOUT_MS + 2 * 48_000, picture);
  local.script = (call) => {
    clock.advance(5000);
    // However many tokens its model makes of the text.
    return sse(...answerChunks('read').slice(0, -1), usageChunk(20_000, 1), DONE)(call);
  };
  await chat(url, promptOf(20_000));
  local.script = hang;
  await expectGivenUpAfter(TIMEOUT_MS + 2 * 4800);
});

test('a late first token is slow only if it is later than reading the prompt explains', async () => {
  const scene = await startStill({ local: [] });
  const { local, clock, url } = scene;
  const circuitAfter = async (bytes: number, ms: number) => {
    local.script = (call) => {
      clock.advance(ms);
      return answers('read')(call);
    };
    await chat(url, promptOf(bytes));
    return (await scene.gateway.status()).circuits['local'];
  };
  expect(await circuitAfter(800, 5000)).toMatchObject({ consecutiveSlow: 0 });
  expect(await circuitAfter(800, 5001)).toMatchObject({ consecutiveSlow: 1 });
  // Of an unknown speed; from then on it is known: 2,500 tokens a second.
  expect(await circuitAfter(80_000, 8000)).toMatchObject({ consecutiveSlow: 0 });
  expect(await circuitAfter(80_000, 20_000)).toMatchObject({ consecutiveSlow: 0 });
  expect(await circuitAfter(80_000, 40_000)).toMatchObject({ consecutiveSlow: 1 });
});

test('a status report says that local is skipped for its slowness, until the threshold is raised as it proposes', async () => {
  const scene = await startStill({ local: [] });
  const { local, clock, url } = scene;
  local.script = (call) => {
    clock.advance(8000);
    return answers('slow')(call);
  };
  const slowAfter = async (times: number) => {
    for (let n = 0; n < times; n += 1) await chat(url, STREAM);
    return (await scene.gateway.status()).local.slow;
  };
  expect(await slowAfter(2)).toBeNull();
  expect(await slowAfter(1)).toEqual({ ttftMs: 8000, enoughMs: 16_000 });
  await scene.gateway.set({ circuit: { ttftThresholdMs: 16_000 } });
  expect(await slowAfter(0)).toBeNull();
  expect((await chat(url, STREAM)).upstream).toBe('local');
  expect(await slowAfter(3)).toBeNull();
});

test.each([
  ['that only timed out', [TIMEOUT_MS, TIMEOUT_MS], 'failures'],
  ['that was slow before it timed out', [8000, TIMEOUT_MS], 'slow'],
])('a status report names the cause of an engine %s', async (_, silencesMs, cause) => {
  const scene = await startStill({ local: hang }, { TTFT_SLOW_THRESHOLD: '2' });
  for (const silentMs of silencesMs) {
    const { pending, call } = await ask(scene, scene.local);
    scene.clock.advance(silentMs);
    if (silentMs < TIMEOUT_MS) await answers('late')(call);
    await pending.answer;
  }
  const { status, judgement } = scene.gateway.host.snapshot();
  expect(judgement.conditions.local).toMatchObject({ kind: 'cooling', cause });
  expect(status.local.slow === null).toBe(cause === 'failures');
});
