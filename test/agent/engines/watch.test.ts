import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import type { EngineAddress } from '../../../main/engines/adapters/probe.ts';
import { createEngineWatch, pinnedEngine } from '../../../main/agent/engines/watch.ts';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import type { HttpClient } from '../../../main/platform/http/types.ts';
import { turn } from '../../support/agent.ts';
import { createManualClock } from '../../support/clock.ts';
import { listening } from '../../support/listening.ts';
import { type FakeEngine, listed, ok, startEngine } from '../fake-engine.ts';

const VLLM = { '/health': '', '/v1/models': listed('vllm', 'a') };
const LLAMA = { '/health': ok({ status: 'ok' }), '/v1/models': listed('llamacpp', 'b') };

interface WatchSetup {
  readonly ports?: readonly number[];
  readonly ownPorts?: readonly number[];
  readonly pinned?: EngineAddress;
}

type TestWatch = ReturnType<typeof started>;

function started({ ports = [], ownPorts = [], pinned }: WatchSetup) {
  const { http, inFlight } = countingHttp();
  const clock = createManualClock();
  let changes = 0;
  const watch = createEngineWatch({
    http,
    clock,
    ports,
    ownPorts: () => ownPorts,
    pinned: pinned ?? null,
    changed: () => (changes += 1),
  });
  onTestFinished(() => {
    watch.stop();
    http.close();
  });
  watch.start();
  const isResting = () => inFlight() === 0 && clock.pending() >= 2;
  return {
    isResting,
    watch,
    clock,
    changes: () => changes,
    /** Resolves once no GET runs and both loops wait. */
    rested: async () => {
      do await turn();
      while (!isResting());
    },
  };
}

/** An HTTP client that knows how many of its calls run. */
function countingHttp() {
  const http = createHttpClient();
  let running = 0;
  const counting: HttpClient = {
    ...http,
    send(request, listener) {
      running += 1;
      const exchange = http.send(request, {
        onHead: (status, headers) => listener.onHead(status, headers),
        onData: (chunk) => listener.onData(chunk),
        onEnd() {
          running -= 1;
          listener.onEnd();
        },
        onFailure(failure) {
          running -= 1;
          listener.onFailure(failure);
        },
      });
      return {
        listener,
        pause: () => exchange.pause(),
        resume: () => exchange.resume(),
        hasLeft: () => exchange.hasLeft(),
        abort() {
          running -= 1;
          exchange.abort();
        },
      };
    },
  };
  return { http: counting, inFlight: () => running };
}

function addressOf(url: string, apiKey: string | null = null): EngineAddress {
  const pinned = pinnedEngine({ engineUrl: url, engineApiKey: apiKey });
  if (pinned === null) throw new Error('it is not set');
  return pinned;
}

/** The seconds in which an engine was asked, moving time on second by second. */
async function timesOf(engine: FakeEngine, { clock, rested }: TestWatch, seconds: number) {
  const times: number[] = [];
  for (let second = 1; second <= seconds; second += 1) {
    const before = engine.asked.length;
    clock.advance(1000);
    await rested();
    if (engine.asked.length > before) times.push(second);
  }
  return times;
}

test('an engine is found at once, and its change is reported', async () => {
  const engine = await startEngine(VLLM);
  const world = started({ ports: [engine.port] });
  await world.rested();
  expect(world.watch.engine()).toMatchObject({ kind: 'vllm', baseUrl: engine.url, models: ['a'] });
  expect(world.changes()).toBe(1);
});

test('the agent’s own ports are never searched for engines', async () => {
  const own = await startEngine(VLLM);
  const world = started({ ports: [own.port], ownPorts: [own.port] });
  await world.rested();
  expect(own.asked).toEqual([]);
  expect(world.watch.engine()).toBeNull();
});

test('of two engines the one that can answer serves, and it stays when both can', async () => {
  const [first, second] = [await startEngine(VLLM), await startEngine(LLAMA)];
  first.routes = { ...VLLM, '/health': { status: 503, body: '' } };
  const world = started({ ports: [first.port, second.port] });
  await world.rested();
  expect(world.watch.engine()?.kind).toBe('llama.cpp');
  first.routes = VLLM;
  await timesOf(first, world, 6);
  const seen = world.watch.engines().map(({ kind, health }) => [kind, health.status]);
  expect(seen).toEqual([
    ['llama.cpp', 'ok'],
    ['vllm', 'ok'],
  ]);
});

test('an engine that loads is read every second for a minute, and every five from then on', async () => {
  const engine = await startEngine({ ...VLLM, '/health': { status: 503, body: '' } });
  const world = started({ pinned: addressOf(engine.url) });
  await world.rested();
  expect(await timesOf(engine, world, 59)).toHaveLength(59);
  await timesOf(engine, world, 10);
  expect(await timesOf(engine, world, 10)).toHaveLength(2);
  engine.routes = VLLM;
  await timesOf(engine, world, 5);
  expect(world.watch.engine()?.health.status).toBe('ok');
});

test('of engines that stop, only the one that was served is still known in the end', async () => {
  const [engine, other] = [await startEngine(VLLM), await startEngine(LLAMA)];
  const world = started({ ports: [engine.port, other.port] });
  const known = () => world.watch.engines().map(({ kind, health }) => [kind, health.status]);
  await world.rested();
  await Promise.all([engine.close(), other.close()]);
  const stranger = createServer((_, res) => res.end('Hello'));
  await listening(stranger, '127.0.0.1', engine.port);
  world.clock.advance(5000);
  await world.rested();
  expect(known()).toHaveLength(2);
  for (let round = 0; round < 45; round += 1) {
    world.clock.advance(15_000);
    await world.rested();
  }
  expect(known()).toEqual([['vllm', 'unreachable']]);
  expect(world.watch.engine()).toMatchObject({ models: ['a'], currentModel: null });
  stranger.close().closeAllConnections();
  const models = '{"object":"list","data":[{"id":"a","object":"model","owned_by":"vllm"}]}';
  const again = createServer((_, res) => res.end(models));
  await listening(again, '::1', engine.port);
  world.clock.advance(60_000);
  await world.rested();
  expect(world.watch.engine()).toMatchObject({ health: { status: 'ok' }, models: ['a'] });
});

/** Lets `rounds` looks at a silent engine pass, each of a second; gives the health after each. */
async function lateRounds(engine: FakeEngine, world: TestWatch, rounds: number) {
  const { watch, clock, isResting } = world;
  engine.routes = { '*': { body: '', hangs: true } };
  const states: (string | undefined)[] = [];
  let seen = engine.asked.length;
  clock.advance(15_000);
  for (let round = 0; round < rounds; round += 1) {
    while (engine.asked.length === seen) await turn();
    seen = engine.asked.length;
    clock.advance(1000);
    do await turn();
    while (engine.asked.length === seen && !isResting());
    states.push(watch.engine()?.health.status);
  }
  return states;
}

test.each([
  ['vllm', VLLM, true],
  ['mlx', { '/v1/models': listed(null, 'a'), '/health': ok({ status: 'ok' }) }, false],
])(
  'an engine that is silent for ten seconds is stuck, unless it cannot answer while it computes (%s)',
  async (_kind, routes, isStuck) => {
    const engine = await startEngine(routes);
    const world = started({ pinned: addressOf(engine.url) });
    await world.rested();
    await lateRounds(engine, world, 10);
    expect(world.watch.isStuck()).toBe(isStuck);
    engine.routes = routes;
    world.clock.advance(15_000);
    await world.rested();
    expect(world.watch.engine()?.health.status).toBe('ok');
    expect(world.watch.isStuck()).toBe(false);
  },
);

test('a pinned engine is the only one asked, with its key, which is shown nowhere', async () => {
  const [pinned, other] = [await startEngine(VLLM), await startEngine(LLAMA)];
  const world = started({
    ports: [other.port],
    pinned: addressOf(`${pinned.url}/v1/`, 'sk-secret'),
  });
  await world.rested();
  expect(other.asked).toEqual([]);
  expect(pinned.headers[0]?.authorization).toBe('Bearer sk-secret');
  expect(world.watch.engine()?.baseUrl).toBe(pinned.url);
  expect(JSON.stringify(world.watch.engines())).not.toContain('secret');
});

test('a new engine address makes the watch forget what it found, and ignore running looks', async () => {
  const former = await startEngine(VLLM);
  const next = await startEngine(LLAMA);
  const { watch, clock, rested } = started({ ports: [former.port] });
  await rested();
  expect(watch.engine()?.baseUrl).toBe(former.url);
  const before = former.asked.length;
  clock.advance(5000);
  // Its answer is on the way.
  while (former.asked.length === before) await turn();
  watch.seek(addressOf(next.url));
  expect(watch.engines()).toEqual([]);
  await rested();
  for (let rounds = 0; rounds < 4; rounds += 1) {
    clock.advance(1000);
    await rested();
  }
  expect(watch.engines().map(({ baseUrl }) => baseUrl)).toEqual([next.url]);
  expect(watch.engine()?.health.status).toBe('ok');
  const asked = former.asked.length;
  clock.advance(60_000);
  await rested();
  expect(former.asked).toHaveLength(asked);
});
