import { expect, test } from 'vitest';
import {
  ask,
  expectAtRest,
  pass,
  PLAIN,
  startStill,
  startTierScene,
  STREAM,
} from '../support/scene.ts';
import { expectServed, startCall } from '../support/client.ts';
import { turns } from '../support/report.ts';
import {
  answerChunks,
  answers,
  hang,
  headOnly,
  lists,
  type UpstreamGet,
} from '../support/upstream.ts';

const MESSAGES = [{ role: 'user', content: 'hi' }];
const TIMEOUT_MS = 60_000;
/** A silent call is looked after from here on. */
const LOOK_AFTER_MS = 5000;
/** For the answer to a look. */
const LOOK_MS = 4000;
const AGAIN_MS = 1000;
const PAUSE_MS = 5000;

const NO_ANSWER = { upstream: 'hosted_a', reason: 'local=timeout' };

type Pair = Awaited<ReturnType<typeof startStill<'local' | 'a'>>>;

const isLook = ({ path }: UpstreamGet) => path === '/health';
const well = ({ res }: UpstreamGet) => void res.end('{"status":"ok"}');
const silent = () => {};

/** A gateway before an engine that lists its models as `ownedBy` does, and then answers nothing. */
async function startWedged(ownedBy: string, settings: Readonly<Record<string, string>> = {}) {
  const keepsHead = { KEEP_ALIVE_MS: '0', ...settings };
  const scene = await startStill({ local: hang, a: answers('paid') }, keepsHead);
  const { local } = scene;
  local.answerGet = lists({ id: 'm', object: 'model', owned_by: ownedBy });
  // Its list is asked for at the start, or a little later if that came before the line above.
  const isKnown = () => scene.gateway.host.snapshot().status.config.models['local'] === 'm';
  await expect
    .poll(() => {
      if (!isKnown()) scene.clock.advance(1000);
      return isKnown();
    })
    .toBe(true);
  local.answerGet = silent;
  return scene;
}

const looksAt = ({ local }: Pair) => local.gets.filter(isLook);

/** The look at the engine is not answered. */
const unanswered = (scene: Pair) => pass(scene, LOOK_MS);

/** Lets so much time go by, which brings the n-th look. */
async function untilLook(scene: Pair, ms: number, n: number): Promise<UpstreamGet> {
  scene.clock.advance(ms);
  await expect.poll(() => looksAt(scene).length, { timeout: 10_000 }).toBe(n);
  const look = looksAt(scene)[n - 1];
  if (look === undefined) throw new Error('no look');
  return look;
}

/** Until the answer to the look was read, and the next one waits for its time. */
async function untilRead({ clock }: Pair): Promise<void> {
  await expect.poll(() => clock.pending(LOOK_MS)).toBe(0);
}

const askLocal = (scene: Pair) => ask(scene, scene.local);

const isRunning = ({ gateway }: Pair) =>
  gateway.host.snapshot().requests.some(({ state }) => state === 'running');

test.each([
  ['own', STREAM, 1],
  ['off', STREAM, 1],
  ['off', { ...PLAIN, n: 2 }, 0],
])(
  'a call to an unresponsive engine ends after two health checks without an answer (HEDGE=%s, %o)',
  async (hedge, body, consecutiveSlow) => {
    const scene = await startWedged('llamacpp', { HEDGE: hedge });
    const { pending, call } = await ask(scene, scene.local, body);
    await untilLook(scene, LOOK_AFTER_MS, 1);
    await unanswered(scene);
    await untilLook(scene, AGAIN_MS, 2);
    expect(isRunning(scene)).toBe(true);
    await unanswered(scene);
    scene.clock.advance(AGAIN_MS);
    await expect.poll(() => scene.a.calls.length, { timeout: 10_000 }).toBe(1);
    expect(await pending.answer).toMatchObject(NO_ANSWER);
    await call.gone;
    const counts = { consecutiveFails: 1, consecutiveSlow };
    expect((await scene.gateway.status()).circuits['local']).toMatchObject(counts);
    await expectAtRest(scene.gateway);
  },
);

test('an unresponsive engine keeps later calls for one health check, and gets none once its circuit is open', async () => {
  const scene = await startWedged('vllm');
  const keptMs: number[] = [];
  for (const n of [1, 2, 3]) {
    const { pending } = await askLocal(scene);
    const before = scene.clock.ticks();
    while (scene.a.calls.length < n) await pass(scene, AGAIN_MS);
    keptMs.push(scene.clock.ticks() - before);
    expect(await pending.answer).toMatchObject(NO_ANSWER);
  }
  const [first = 0, ...others] = keptMs;
  expect(first).toBeLessThan(LOOK_AFTER_MS + 2 * LOOK_MS + 5 * AGAIN_MS);
  for (const ms of others) expect(ms).toBeLessThan(LOOK_AFTER_MS + LOOK_MS + 6 * AGAIN_MS);
  expect((await scene.gateway.status()).circuits['local']?.open).toBe(true);
});

test('an unresponsive engine keeps its call if no other upstream may take it', async () => {
  const scene = await startWedged('vllm');
  const { pending, call } = await ask(scene, scene.local, STREAM, { 'x-gateway-force-zero': '1' });
  for (let passed = 0; passed < 25_000; passed += 1000) await pass(scene, 1000);
  expect(looksAt(scene).length).toBeGreaterThan(1);
  await answers('late')(call);
  expectServed(await pending.answer, 'local');
});

test('an engine that answers health checks keeps its whole timeout, however slow it is', async () => {
  const scene = await startWedged('llamacpp');
  scene.local.answerGet = well;
  const { pending, call } = await askLocal(scene);
  for (let look = 1; look <= 11; look += 1) {
    await untilLook(scene, PAUSE_MS, look);
    await untilRead(scene);
  }
  scene.clock.advance(PAUSE_MS - 1);
  expect(isRunning(scene)).toBe(true);
  await answers('late')(call);
  expectServed(await pending.answer, 'local');
});

test('an engine that reports progress keeps a prompt as long as it makes any, and the app gets only the answer', async () => {
  const scene = await startWedged('llamacpp', { HEALTH_CHECKS: 'false' });
  for (const isWell of [true, false]) {
    const { pending, call } = await askLocal(scene);
    expect(call.json).toMatchObject({ return_progress: true });
    headOnly(call);
    for (let part = 1; part <= 3; part += 1) {
      await pass(scene, TIMEOUT_MS - 1);
      call.res.write(`data: {"choices":[],"prompt_progress":{"total":3,"processed":${part}}}\n\n`);
      await turns(scene);
    }
    await pass(scene, isWell ? TIMEOUT_MS : 3 * TIMEOUT_MS - 3);
    expect(isRunning(scene)).toBe(true);
    if (isWell) for (const piece of answerChunks('read')) call.res.write(piece);
    else await pass(scene, 1);
    const { upstream, text } = await pending.answer;
    expect([upstream, text.includes('progress')]).toEqual([isWell ? 'local' : 'hosted_a', false]);
  }
});

test.each([
  ['/v1/chat/completions', { messages: MESSAGES }],
  ['/v1/completions', { prompt: 'hi' }],
  ['/v1/messages', { messages: MESSAGES, max_tokens: 9 }],
  ['/v1/responses', { input: 'hi' }],
])('llama.cpp is asked for its progress by a request to %s', async (path, body) => {
  const { url, local } = await startWedged('llamacpp');
  const pending = startCall(url + path, { model: 'm', ...body });
  expect((await local.call(1)).json).toMatchObject({ return_progress: true });
  pending.leave();
});

test.each<[says: string, ownedBy: string, settings: Record<string, string>]>([
  ['if it is not known to answer checks while it works', 'mlx', {}],
  ['with HEALTH_CHECKS=false', 'llamacpp', { HEALTH_CHECKS: 'false' }],
])(
  'an engine keeps its whole timeout and gets no health check %s',
  async (_says, ownedBy, settings) => {
    const scene = await startWedged(ownedBy, settings);
    const { pending } = await askLocal(scene);
    for (let passed = 0; passed < TIMEOUT_MS - 1000; passed += 1000) scene.clock.advance(1000);
    expect(looksAt(scene)).toEqual([]);
    expect(isRunning(scene)).toBe(true);
    scene.clock.advance(1000);
    expect(await pending.answer).toMatchObject(NO_ANSWER);
  },
);

test.each([
  ['llamacpp, whose threads for HTTP may all be taken', 'llamacpp', 0],
  ['vllm', 'vllm', 3],
])(
  'an engine keeps its whole timeout with three silent calls: %s',
  async (_says, ownedBy, givenUp) => {
    const scene = await startWedged(ownedBy);
    const calls = [await askLocal(scene), await askLocal(scene), await askLocal(scene)];
    for (let passed = 0; passed < 20_000; passed += 1000) await pass(scene, 1000);
    expect(scene.a.calls).toHaveLength(givenUp);
    for (const { pending } of calls) pending.leave();
  },
);

test('a request leaves a machine that no longer answers for the next upstream', async () => {
  const tier = await startTierScene({ machine: hang }, { hosted_a: answers('paid') });
  const { machine } = tier.own;
  machine.answerGet = silent;
  const { pending } = await ask(tier, machine);
  for (let passed = 0; passed < 20_000; passed += 1000) await pass(tier, 1000);
  const answer = await pending.answer;
  expectServed(answer, 'hosted_a', `local/${machine.id}=timeout`);
});
