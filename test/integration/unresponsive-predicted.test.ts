import { describe, expect, test } from 'vitest';
import { chat, startChat } from '../support/client.ts';
import { ask, callsOf, expectAtRest, type Scene, startScene, STREAM } from '../support/scene.ts';
import { startMachine, startTier } from '../support/tier.ts';
import { answers, hang, ROLE, type Script, sse, chunk } from '../support/upstream.ts';

/** What the engine of these tests takes for its first token. */
const USUAL_MS = 3000;
/** Five times as long. */
const HUNG_MS = 5 * USUAL_MS;
/** An engine that is quick is given at least two hedge delays. */
const SHORTEST_MS = 10_000;
const TIMEOUT_MS = 60_000;

const NO_ANSWER = { upstream: 'hosted_a', reason: 'local=timeout' };

type Pair = Scene<'local' | 'hosted_a'>;

/** A gateway before an engine that has given so many first tokens, and a hosted upstream. */
async function startUsed(
  settings: Readonly<Record<string, string>> = {},
  samples = 20,
  usualMs = USUAL_MS,
): Promise<Pair> {
  const scene = await startScene({ local: [], hosted_a: answers('paid') }, settings);
  const { up, clock, url } = scene;
  up.local.script = (call) => {
    clock.advance(usualMs);
    return answers('x')(call);
  };
  for (let n = 0; n < samples; n += 1)
    expect(await chat(url, STREAM)).toMatchObject({ status: 200 });
  up.local.script = hang;
  return scene;
}

async function askLocal(scene: Pair, body: unknown = STREAM, headers = {}) {
  const { pending, call } = await ask(scene, scene.up.local, body, headers);
  return { ...pending, call };
}

const states = ({ host }: Pair) => host.snapshot().requests.map(({ state }) => state);

describe('an engine that is silent for several times what is predicted', () => {
  test('an unresponsive engine is given up before its timeout, and counts as slow and failed', async () => {
    const scene = await startUsed();
    const pending = await askLocal(scene);
    scene.clock.advance(HUNG_MS - 1);
    expect(states(scene)[0]).toBe('running');
    expect(callsOf(scene.up)['hosted_a']).toBe(0);
    scene.clock.advance(1);
    expect(await pending.answer).toMatchObject(NO_ANSWER);
    expect((await scene.status()).circuits['local']).toMatchObject({
      consecutiveFails: 1,
      consecutiveSlow: 1,
    });
    await expectAtRest(scene);
  });

  test('an engine is given two hedge delays even if it is usually quick', async () => {
    const scene = await startUsed({}, 20, 100);
    const pending = await askLocal(scene);
    scene.clock.advance(SHORTEST_MS - 1);
    expect(states(scene)[0]).toBe('running');
    scene.clock.advance(1);
    expect(await pending.answer).toMatchObject(NO_ANSWER);
  });

  test('an unresponsive engine of a local pool of one machine is given up before its timeout, too', async () => {
    const machine = await startMachine();
    const { clock, url } = await startTier([machine], { HOSTED_A_BASE_URL: (await paid()).url });
    machine.script = (call) => {
      clock.advance(1000);
      return answers('x')(call);
    };
    for (let n = 0; n < 20; n += 1) await chat(url, STREAM);
    machine.script = hang;
    const pending = startChat(url, STREAM);
    await machine.call(21);
    clock.advance(SHORTEST_MS);
    expect(await pending.answer).toMatchObject({ reason: `local/${machine.id}=timeout` });
  });

  test('an engine that answers within several times the predicted TTFT is not given up', async () => {
    const scene = await startUsed();
    const pending = await askLocal(scene);
    scene.clock.advance(HUNG_MS - 1);
    await answers('late')(pending.call);
    expect(await pending.answer).toMatchObject({ upstream: 'local', reason: 'none' });
  });
});

describe('an engine that has answered from its cache for long', () => {
  const COLD_MS = 20_000;
  const said = (content: string) => ({ role: 'user', content });
  const turnsOf = (name: string, count: number) => ({
    ...STREAM,
    messages: [
      said(`${name} ${'lorem ipsum '.repeat(8000)}`),
      ...Array.from({ length: count }, (_, at) => said(`${name} ${at} ${'dolor '.repeat(100)}`)),
    ],
  });

  test('an engine that has answered from its cache for long is given the time to read a new conversation', async () => {
    const scene = await startScene({ local: [], hosted_a: answers('paid') });
    const { up, clock, url } = scene;
    const lasting = (ms: number): Script => {
      return (call) => {
        clock.advance(ms);
        return answers('x')(call);
      };
    };
    for (const name of ['first', 'second']) {
      for (let turn = 0; turn < 40; turn += 1) {
        up.local.script = lasting(turn === 0 ? COLD_MS : 300);
        await chat(url, turnsOf(name, turn));
      }
    }
    up.local.script = hang;
    const pending = await askLocal(scene, turnsOf('third', 0));
    scene.clock.advance(COLD_MS - 1);
    expect(states(scene)[0]).toBe('running');
    expect(callsOf(scene.up)['hosted_a']).toBe(0);
    await answers('read')(pending.call);
    expect(await pending.answer).toMatchObject({ upstream: 'local', reason: 'none' });
  });
});

const paid = async () => (await startScene({ hosted_a: answers('paid') })).up.hosted_a;

describe('engines that keep their whole timeout', () => {
  test.each<[says: string, settings: Record<string, string>, samples: number]>([
    ['below 20 samples', {}, 19],
    ['with HEDGE=off', { HEDGE: 'off' }, 20],
  ])('an engine keeps its whole timeout %s', async (_says, settings, samples) => {
    const scene = await startUsed(settings, samples);
    const pending = await askLocal(scene);
    scene.clock.advance(TIMEOUT_MS - 1);
    expect(states(scene)[0]).toBe('running');
    scene.clock.advance(1);
    expect(await pending.answer).toMatchObject(NO_ANSWER);
  });

  test('an engine keeps its whole timeout after a minute without a first token, as it may have unloaded its model', async () => {
    const scene = await startUsed();
    scene.clock.advance(60_001);
    const pending = await askLocal(scene);
    scene.clock.advance(TIMEOUT_MS - 1);
    expect(states(scene)[0]).toBe('running');
    scene.clock.advance(1);
    expect(await pending.answer).toMatchObject(NO_ANSWER);
  });

  test('an engine keeps its whole timeout for an answer that comes whole', async () => {
    const scene = await startUsed();
    const pending = await askLocal(scene, { ...STREAM, stream: false, n: 2 });
    scene.clock.advance(HUNG_MS);
    await answers('late')(pending.call);
    expect(await pending.answer).toMatchObject({ upstream: 'local' });
  });
});

describe('an engine at work for other requests', () => {
  const begins: Script = sse(ROLE, chunk({ content: 'one ' }));

  test('an engine is not unresponsive while it works for others, and a request that waits its turn waits on', async () => {
    const scene = await startUsed();
    scene.up.local.script = ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(ROLE + chunk({ content: 'one ' }));
    };
    const first = await askLocal(scene);
    await first.received('one ');
    scene.up.local.script = hang;
    const second = await askLocal(scene);
    for (let n = 0; n < 2; n += 1) {
      scene.clock.advance(HUNG_MS);
      first.call.res.write(chunk({ content: `more ${n} ` }));
      await first.received(`more ${n}`);
    }
    expect(callsOf(scene.up)['hosted_a']).toBe(0);
    first.leave();
    await first.call.gone;
    await expect.poll(() => states(scene)[1]).toBe('cancelled');
    await begins(second.call);
    expect(await second.answer).toMatchObject({ upstream: 'local' });
  });

  test('an engine is unresponsive if none of its running requests gets any more content', async () => {
    const scene = await startUsed();
    const calls = [await askLocal(scene), await askLocal(scene)];
    scene.clock.advance(HUNG_MS);
    for (const { answer } of calls) expect(await answer).toMatchObject(NO_ANSWER);
  });
});
