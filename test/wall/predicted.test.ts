import { describe, expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import type { ManualClock } from '../support/clock.ts';
import {
  ask,
  askSlow,
  attemptsOf,
  callsOf,
  LINE_MS,
  pass,
  type Scene,
  startScene,
  STREAM,
} from '../support/scene.ts';
import { startMachine, startTier, type Machine } from '../support/tier.ts';
import { answers, error, hang, type Script, type Upstream } from '../support/upstream.ts';

const DEAD = error(503);
/** Not an own machine's fault, and the next one is asked. */
const TOO_LONG = error(400, 'the prompt is too long');
/** So long a machine is believed to be slow without being heard of. */
const BELIEVED_MS = 60_000;
/** What the machine of these laws takes for a byte. */
const MS_PER_BYTE = 0.1;
/** 8 s: well behind the line. */
const LONG = 80_000;
/** 4 s: before it. */
const SHORT = 40_000;

/** A streamed chat completion whose body has so many bytes. */
/** Nothing is added to such a request, so that it reaches the engine as long as it is. */
const ASKED_FOR_USAGE = { stream_options: { include_usage: true } };

function promptOf(bytes: number): string {
  const of = (content: string) =>
    JSON.stringify({ ...STREAM, ...ASKED_FOR_USAGE, messages: [{ role: 'user', content }] });
  return of('x'.repeat(bytes - of('').length));
}

/** Answers once it has read the prompt; time passes with it. */
const reading =
  (clock: ManualClock, msPerByte = MS_PER_BYTE, overheadMs = 0): Script =>
  (call) => {
    clock.advance(overheadMs + msPerByte * call.body.length);
    return answers('read')(call);
  };

/** Has `local` read so many prompts, of 1 to 20 kB. */
async function teach({ url, clock, up }: Scene<'local'>, count: number): Promise<void> {
  up.local.script = reading(clock);
  for (let n = 1; n <= count; n += 1) {
    expect(await chat(url, promptOf(n * 1000))).toMatchObject({ upstream: 'local' });
  }
}

/** A gateway with `local`, which has taught it so many first tokens, and a hosted upstream. */
async function startTaught(
  settings: Readonly<Record<string, string>> = {},
  samples = 20,
): Promise<Scene<'local' | 'hosted_a'>> {
  const scene = await startScene({ local: [], hosted_a: [] }, { HEDGE: 'all', ...settings });
  scene.up.hosted_a.script = answers('from a');
  await teach(scene, samples);
  return scene;
}

/** Sends a prompt of so many bytes. */
const prompt = ({ url }: { readonly url: string }, bytes = LONG) => chat(url, promptOf(bytes));

const asked = (upstream: Upstream) => upstream.calls.length;

describe('local whose first token cannot come before the line', () => {
  test('is skipped at once', async () => {
    const scene = await startTaught();
    expect(await prompt(scene)).toMatchObject({
      status: 200,
      upstream: 'hosted_a',
      reason: 'local=predicted_slow',
    });
    expect(callsOf(scene.up)).toEqual({ local: 20, hosted_a: 1 });
    expect(attemptsOf(scene)).toEqual([['hosted_a', 'turn', null]]);
  });

  test('is not known to be slow before 20 first tokens', async () => {
    const scene = await startTaught({}, 19);
    scene.up.local.script = hang;
    const { pending } = await askSlow(scene, scene.up.local, promptOf(LONG));
    expect(await pending.answer).toMatchObject({ reason: 'local=outrun' });
  });

  test.each([
    ['before', LINE_MS / MS_PER_BYTE - 1000, 'local', 'none'],
    ['behind', LINE_MS / MS_PER_BYTE + 1000, 'hosted_a', 'local=predicted_slow'],
  ])('a prompt that is read %s the line is told apart', async (_side, bytes, upstream, reason) => {
    const scene = await startTaught();
    expect(await prompt(scene, bytes)).toMatchObject({ upstream, reason });
  });

  test('has the line that the owner set', async () => {
    const scene = await startTaught({ HEDGE_MS: '2500' });
    expect(await prompt(scene, 24_000)).toMatchObject({ reason: 'none' });
    expect(await prompt(scene, 26_000)).toMatchObject({ reason: 'local=predicted_slow' });
  });

  test.each(['own', 'off'])('is asked all the same with HEDGE=%s', async (hedge) => {
    const scene = await startTaught({ HEDGE: hedge });
    expect(await prompt(scene)).toMatchObject({ upstream: 'local', reason: 'none' });
    expect(asked(scene.up.hosted_a)).toBe(0);
  });

  test('is asked where nothing may be spent', async () => {
    const scene = await startTaught();
    const zero = { 'x-gateway-force-zero': '1' };
    expect(await chat(scene.url, promptOf(LONG), zero)).toMatchObject({
      upstream: 'local',
      reason: 'none',
    });
  });

  test('is asked where nobody else is set up', async () => {
    const scene = await startScene({ local: [] }, { HEDGE: 'all' });
    await teach(scene, 20);
    expect(await prompt(scene)).toMatchObject({ upstream: 'local', reason: 'none' });
  });

  test.each([
    ['an open circuit', DEAD],
    ['a rate limit', error(429, 'no', null, { 'retry-after': '60' })],
  ])('is asked where nobody else lets the request in for %s', async (_why, script) => {
    const scene = await startTaught({ FAIL_THRESHOLD: '1' });
    const { up, clock, url } = scene;
    up.hosted_a.script = script;
    up.local.script = TOO_LONG;
    await chat(url);
    expect(asked(up.hosted_a)).toBe(1);
    up.local.script = reading(clock);
    expect(await prompt(scene)).toMatchObject({ upstream: 'local', reason: 'none' });
    expect(asked(up.hosted_a)).toBe(1);
  });
});

describe('local that was put off', () => {
  test('is asked at last where all others fail, and its answer names them', async () => {
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

  test('and then fails as well has the last word, and none is called twice', async () => {
    const scene = await startTaught();
    scene.up.hosted_a.script = DEAD;
    scene.up.local.script = error(504);
    const answer = await prompt(scene);
    expect(answer).toMatchObject({
      status: 502,
      upstream: 'none',
      reason: 'hosted_a=http_503; local=http_504',
    });
    expect(answer.text).toMatch(/hosted_a: answered HTTP 503\. local: answered HTTP 504\./);
    expect(callsOf(scene.up)).toEqual({ local: 21, hosted_a: 1 });
  });

  test('is not asked where another one says that the caller is at fault', async () => {
    const scene = await startTaught();
    scene.up.hosted_a.script = error(400, 'bad temperature');
    expect(await prompt(scene)).toMatchObject({
      status: 400,
      upstream: 'hosted_a',
      reason: 'local=predicted_slow',
    });
    expect(asked(scene.up.local)).toBe(20);
  });

  test('is no hedge of a slow hosted one either', async () => {
    const scene = await startTaught();
    scene.up.hosted_a.script = hang;
    const { pending, call } = await ask(scene, scene.up.hosted_a, promptOf(LONG));
    await pass(scene, 3 * LINE_MS);
    expect(asked(scene.up.local)).toBe(20);
    await answers('from a')(call);
    expect(await pending.answer).toMatchObject({ reason: 'local=predicted_slow' });
  });
});

describe('what has not been heard of for a minute', () => {
  test('is not believed: local is tried again', async () => {
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

  test('and is slow again when tried is believed for another minute', async () => {
    const scene = await startTaught();
    const { up, clock } = scene;
    clock.advance(BELIEVED_MS + 1);
    up.local.script = hang;
    const { pending } = await askSlow(scene, up.local, promptOf(LONG));
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'local=outrun' });
    clock.advance(BELIEVED_MS);
    expect(await prompt(scene)).toMatchObject({ reason: 'local=predicted_slow' });
    expect(asked(up.local)).toBe(21);
  });
});

describe('the circuit', () => {
  const localOf = async (scene: Scene<'local'>) => (await scene.status()).circuits['local'];

  test('does not hold a long prompt’s late first token against local, if it was predicted', async () => {
    const scene = await startTaught({ HEDGE: 'off' });
    for (let n = 0; n < 3; n += 1) await prompt(scene);
    expect((await scene.status()).circuits['local']).toMatchObject({
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
    await pending.answer;
    expect(await localOf(scene)).toMatchObject({ consecutiveSlow: 0 });
  });

  test('holds silence against one that was outrun although it had little to read', async () => {
    const scene = await startTaught();
    const { up } = scene;
    up.local.script = hang;
    const { pending } = await askSlow(scene, up.local, promptOf(1000));
    await pending.answer;
    expect(await localOf(scene)).toMatchObject({ consecutiveSlow: 0 });
  });
});

describe('the record', () => {
  test('shows what was predicted beside what came', async () => {
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
      return DEAD(call);
    };
    await prompt(scene);
    expect(scene.host.snapshot().requests[0]?.attempts).toMatchObject([
      { upstream: 'hosted_a', startMs: 0, predictedMs: null },
      { upstream: 'local', startMs: 1500, predictedMs: 9500, firstContentMs: 9500 },
    ]);
  });
});

describe('of two machines', () => {
  test('the one that is predicted to be first is asked, by the prompt’s length', async () => {
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
