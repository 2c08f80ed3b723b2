import { describe, expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import {
  BELIEVED_MS,
  LONG,
  MS_PER_BYTE,
  prompt,
  promptOf,
  reading,
  startTaught,
  teach,
} from '../support/predictions.ts';
import { ask, askSlow, attemptsOf, callsOf, LINE_MS, pass, startScene } from '../support/scene.ts';
import { startMachine, startTier, type Machine } from '../support/tier.ts';
import { answers, error, hang, type Script, type Upstream } from '../support/upstream.ts';

const DEAD = error(503);
/** Not an own machine's fault, and the next one is asked. */
const TOO_LONG = error(400, 'the prompt is too long');

const asked = (upstream: Upstream) => upstream.calls.length;

describe('a local that is predicted to be slow', () => {
  test('a local that is predicted to be slow is skipped at once', async () => {
    const scene = await startTaught();
    expect(await prompt(scene)).toMatchObject({
      status: 200,
      upstream: 'hosted_a',
      reason: 'local=predicted_slow',
    });
    expect(callsOf(scene.up)).toEqual({ local: 20, hosted_a: 1 });
    expect(attemptsOf(scene)).toEqual([['hosted_a', 'turn', null]]);
  });

  test('a local is not predicted to be slow before 20 first tokens', async () => {
    const scene = await startTaught({}, 19);
    scene.up.local.script = hang;
    const { pending } = await askSlow(scene, scene.up.local, promptOf(LONG));
    expect(await pending.answer).toMatchObject({ reason: 'local=outrun' });
  });

  test.each([
    ['before', LINE_MS / MS_PER_BYTE - 1000, 'local', 'none'],
    ['after', LINE_MS / MS_PER_BYTE + 1000, 'hosted_a', 'local=predicted_slow'],
  ])(
    'a prompt that is read %s the hedge delay is told apart',
    async (_side, bytes, upstream, reason) => {
      const scene = await startTaught();
      expect(await prompt(scene, bytes)).toMatchObject({ upstream, reason });
    },
  );

  test('a local is predicted to be slow by the hedge delay that is set', async () => {
    const scene = await startTaught({ HEDGE_MS: '2500' });
    expect(await prompt(scene, 24_000)).toMatchObject({ reason: 'none' });
    expect(await prompt(scene, 26_000)).toMatchObject({ reason: 'local=predicted_slow' });
  });

  test.each(['own', 'off'])(
    'a local that is predicted to be slow is called with HEDGE=%s',
    async (hedge) => {
      const scene = await startTaught({ HEDGE: hedge });
      expect(await prompt(scene)).toMatchObject({ upstream: 'local', reason: 'none' });
      expect(asked(scene.up.hosted_a)).toBe(0);
    },
  );

  test('a local that is predicted to be slow is called with Local only', async () => {
    const scene = await startTaught();
    const zero = { 'x-gateway-force-zero': '1' };
    expect(await chat(scene.url, promptOf(LONG), zero)).toMatchObject({
      upstream: 'local',
      reason: 'none',
    });
  });

  test('a local that is predicted to be slow is called where no other upstream is set up', async () => {
    const scene = await startScene({ local: [] }, { HEDGE: 'all' });
    await teach(scene, 20);
    expect(await prompt(scene)).toMatchObject({ upstream: 'local', reason: 'none' });
  });

  test.each([
    ['an open circuit', DEAD],
    ['a rate limit', error(429, 'no', null, { 'retry-after': '60' })],
  ])(
    'a local that is predicted to be slow is called where no other upstream admits the request for %s',
    async (_why, script) => {
      const scene = await startTaught({ FAIL_THRESHOLD: '1' });
      const { up, clock, url } = scene;
      up.hosted_a.script = script;
      up.local.script = TOO_LONG;
      await chat(url);
      expect(asked(up.hosted_a)).toBe(1);
      up.local.script = reading(clock);
      expect(await prompt(scene)).toMatchObject({ upstream: 'local', reason: 'none' });
      expect(asked(up.hosted_a)).toBe(1);
    },
  );
});

describe('a local that was put last', () => {
  test('a local that was put last is called where all others fail, and its answer names them', async () => {
    const scene = await startTaught();
    scene.up.hosted_a.script = DEAD;
    expect(await prompt(scene)).toMatchObject({
      status: 200,
      upstream: 'local',
      reason: 'hosted_a=http_503',
    });
    expect(callsOf(scene.up)).toEqual({ local: 21, hosted_a: 1 });
    expect(attemptsOf(scene)).toEqual([
      ['hosted_a', 'turn', 'http_503'],
      ['local', 'turn', null],
    ]);
  });

  test('a local that was put last and fails too gives the final answer, and no upstream is called twice', async () => {
    const scene = await startTaught();
    scene.up.hosted_a.script = DEAD;
    scene.up.local.script = error(504);
    const answer = await prompt(scene);
    expect(answer).toMatchObject({
      status: 502,
      upstream: 'none',
      reason: 'hosted_a=http_503; local=http_504',
    });
    expect(answer.text).toMatch(
      /hosted_a: answered HTTP 503: \w+\. local: answered HTTP 504: \w+\./,
    );
    expect(callsOf(scene.up)).toEqual({ local: 21, hosted_a: 1 });
  });

  test('a local that was put last is called where another upstream refuses for an unexplained reason', async () => {
    const scene = await startTaught();
    scene.up.hosted_a.script = error(400, 'bad temperature');
    expect(await prompt(scene)).toMatchObject({
      status: 200,
      upstream: 'local',
      reason: 'hosted_a=http_400',
    });
  });

  test('a local that was put last is not the hedge of a slow hosted upstream either', async () => {
    const scene = await startTaught();
    scene.up.hosted_a.script = hang;
    const { pending, call } = await ask(scene, scene.up.hosted_a, promptOf(LONG));
    await pass(scene, 3 * LINE_MS);
    expect(asked(scene.up.local)).toBe(20);
    await answers('from a')(call);
    expect(await pending.answer).toMatchObject({ reason: 'local=predicted_slow' });
  });
});

describe('predictions without a sample for a minute', () => {
  test('a prediction without a sample for a minute is not used, and local is tried again', async () => {
    const scene = await startTaught();
    const { up, clock } = scene;
    clock.advance(BELIEVED_MS);
    expect(await prompt(scene)).toMatchObject({ reason: 'local=predicted_slow' });
    clock.advance(1);
    // Something has made it ten times as fast.
    up.local.script = reading(clock, MS_PER_BYTE / 10);
    expect(await prompt(scene)).toMatchObject({ upstream: 'local', reason: 'none' });
    expect(asked(up.local)).toBe(21);
  });

  test('a prediction whose local is slow again when tried is used for another minute', async () => {
    const scene = await startTaught();
    const { up, clock } = scene;
    clock.advance(BELIEVED_MS + 1);
    up.local.script = hang;
    const { pending } = await askSlow(scene, up.local, promptOf(LONG));
    expect(asked(up.hosted_a)).toBe(0);
    clock.advance(LONG * MS_PER_BYTE - LINE_MS);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'local=outrun' });
    clock.advance(BELIEVED_MS);
    expect(await prompt(scene)).toMatchObject({ reason: 'local=predicted_slow' });
    expect(asked(up.local)).toBe(21);
  });
});

describe('two machines with predictions', () => {
  test('the machine that is predicted to be first is called, by the prompt’s length', async () => {
    const machines = [await startMachine(), await startMachine()];
    const [reader, starter] = machines as [Machine, Machine];
    const tier = await startTier(machines, { HEDGE: 'off' });
    const scripts: readonly (readonly [Machine, Script])[] = [
      // One reads fast and begins late, the other begins at once and reads slowly.
      [reader, reading(tier.clock, 0.001, 300)],
      [starter, reading(tier.clock, 0.05)],
    ];
    for (const [pupil, script] of scripts) {
      for (const machine of machines) machine.script = machine === pupil ? script : TOO_LONG;
      for (let n = 1; n <= 20; n += 1) await prompt(tier, n * 500);
    }
    for (const [machine, script] of scripts) machine.script = script;
    const served = async (bytes: number) =>
      (await prompt(tier, bytes)).headers['x-gateway-provider'];
    expect(await served(1000)).toBe(starter.id);
    expect(await served(20_000)).toBe(reader.id);
    expect(await served(1000)).toBe(starter.id);
    expect(await served(20_000)).toBe(reader.id);
  });
});
