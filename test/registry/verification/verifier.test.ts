import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../main/platform/log.ts';
import { type StoredVerification, UNVERIFIED } from '../../../main/registry/store/store.ts';
import type { RunEdges } from '../../../main/registry/verification/checks.ts';
import { createVerifier } from '../../../main/registry/verification/verifier.ts';
import type {
  RecordResult,
  VerificationSubject,
  VerifierHost,
} from '../../../main/registry/verifier-host.ts';
import { createManualClock } from '../../support/clock.ts';
import {
  aloneAt,
  edgesFor,
  type FakeProvider,
  json,
  recordAt,
  silence,
  startFakeProvider,
} from '../fake-provider.ts';

const MINUTE = 60_000;

/** A registry that keeps what it is told of one agent per provider at `agent.test`, on a port of its own; other candidates lead nowhere. */
function startWorld(providers: readonly FakeProvider[]) {
  const clock = createManualClock();
  const subjects = new Map(providers.map((one) => [one.id, aloneAt(one)]));
  const results = new Map<string, StoredVerification[]>();
  const waiting: (() => void)[] = [];
  const running = new Set<string>();
  let most = 0;
  const host: VerifierHost = {
    subjects: () => [...subjects.values()],
    subject: (id) => subjects.get(id) ?? null,
    lease: async () => () => {},
    verifying(id, isOn) {
      if (isOn) running.add(id);
      else running.delete(id);
      most = Math.max(most, running.size);
    },
    verificationDone(id, materialChanges, verification) {
      running.delete(id);
      const subject = subjects.get(id);
      if (subject?.materialChanges !== materialChanges)
        return Promise.resolve({ kind: 'outdated' });
      const recorded = world.record();
      if (recorded.kind === 'recorded') {
        subjects.set(id, { ...subject, verification });
        results.set(id, [...(results.get(id) ?? []), verification]);
      }
      for (const wake of waiting.splice(0)) wake();
      return Promise.resolve(recorded);
    },
  };
  const edges: RunEdges = {
    ...edgesFor({ port: 0 }, clock),
    rules: { ports: providers.map(({ port }) => port), hostPort: 1, ownPorts: () => [] },
  };
  const verifier = createVerifier({ ...edges, host, log: silentLog });
  onTestFinished(() => verifier.stop());
  const world = {
    ...verifier,
    clock,
    /** The results of one provider, in order. */
    results: (id: string) => results.get(id) ?? [],
    /** Resolves with the n-th result of a provider, from 1. */
    async result(id: string, n = 1) {
      for (;;) {
        const found = results.get(id)?.[n - 1];
        await (found === undefined
          ? new Promise<void>((resolve) => waiting.push(resolve))
          : // The verifier hears of it a little later than this test.
            turn());
        if (found !== undefined) return found;
      }
    },
    change(id: string, changes: Partial<VerificationSubject>) {
      const subject = subjects.get(id);
      if (subject !== undefined) subjects.set(id, { ...subject, ...changes });
    },
    drop: (id: string) => void subjects.delete(id),
    running: () => running,
    /** The most that ever ran at once. */
    most: () => most,
    /** From now on this happens to each result. */
    record: (): RecordResult => ({ kind: 'recorded' }),
  };
  return world;
}

const posts = ({ calls }: FakeProvider) => calls.filter(({ method }) => method === 'POST').length;

/** Several that never answer, and a registry that has begun to verify the first four. */
async function startSilent(count: number) {
  const providers = await Promise.all(Array.from({ length: count }, () => startFakeProvider()));
  for (const provider of providers) provider.on('/health', silence);
  const world = startWorld(providers);
  world.start();
  world.clock.advance(0);
  await Promise.all(providers.slice(0, 4).map((provider) => provider.call('/health')));
  return { providers, world };
}

async function startOne(
  prepare: (world: ReturnType<typeof startWorld>, provider: FakeProvider) => void = () => {},
) {
  const provider = await startFakeProvider();
  const world = startWorld([provider]);
  prepare(world, provider);
  world.start();
  world.clock.advance(0);
  return { world, provider };
}

test('a new machine is verified at once, lightly every 5 min and in full every 30', async () => {
  const { world, provider } = await startOne();
  expect(await world.result(provider.id)).toMatchObject({
    state: 'verified',
    address: `http://127.0.0.1:${provider.port}`,
    lastInferenceAt: world.clock.now(),
  });
  expect(posts(provider)).toBe(1);
  for (let n = 2; n <= 6; n += 1) {
    world.clock.advance(5 * MINUTE);
    expect(await world.result(provider.id, n)).toMatchObject({ state: 'verified' });
  }
  expect(posts(provider)).toBe(1);
  world.clock.advance(5 * MINUTE);
  await world.result(provider.id, 7);
  expect(posts(provider)).toBe(2);
});

test('the engine that a list of models shows is kept, until another list shows another', async () => {
  const { world, provider } = await startOne();
  const owned = (owner: unknown) =>
    provider.on('/v1/models', ({ res }) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ data: [{ id: 'qwen3-32b', owned_by: owner }] }));
    });
  expect(await world.result(provider.id)).not.toHaveProperty('ownedBy');
  const seen = [];
  for (const [index, owner] of ['vllm', undefined, 7, 'sglang'].entries()) {
    owned(owner);
    world.clock.advance(5 * MINUTE);
    seen.push((await world.result(provider.id, index + 2)).ownedBy);
  }
  expect(seen).toEqual(['vllm', 'vllm', 'vllm', 'sglang']);
});

test('at most four verifications run at once, each machine alone, and all have their turn', async () => {
  const { providers, world } = await startSilent(7);
  expect(world.running().size).toBe(4);
  expect(providers.slice(4).every(({ calls }) => calls.length === 0)).toBe(true);
  for (const { id } of providers) world.providerChanged(id, ['requested']);
  for (const provider of providers) {
    const call = await provider.call('/health');
    provider.on('/health', provider.healthy);
    provider.healthy(call);
  }
  await Promise.all(providers.map(({ id }) => world.result(id)));
  expect(world.most()).toBe(4);
  expect(providers.map(({ id }) => world.results(id).length)).toEqual(Array(7).fill(1));
});

test('the owner may ask for a run at any time, and one that runs already counts', async () => {
  const { world, provider } = await startOne();
  await world.result(provider.id);
  world.providerChanged(provider.id, ['requested']);
  world.clock.advance(0);
  await provider.call('/health', 2);
  world.providerChanged(provider.id, ['requested']);
  await world.result(provider.id, 2);
  world.clock.advance(MINUTE);
  await turn();
  expect(world.results(provider.id)).toHaveLength(2);
  expect(posts(provider)).toBe(2);
});

test('a silent or paused machine is not verified, and has its turn when it is back', async () => {
  const { world, provider } = await startOne((made, { id }) =>
    made.change(id, { isReachable: false }),
  );
  world.clock.advance(29_000);
  expect(world.running().size).toBe(0);
  world.change(provider.id, { isReachable: true });
  world.clock.advance(1000);
  expect(await world.result(provider.id)).toMatchObject({ state: 'verified' });
  world.change(provider.id, { isReachable: false });
  world.clock.advance(6 * MINUTE);
  world.change(provider.id, { isReachable: true });
  world.providerChanged(provider.id, ['returned']);
  world.clock.advance(0);
  await world.result(provider.id, 2);
});

test('real traffic stands in for the test inference', async () => {
  const { world, provider } = await startOne();
  await world.result(provider.id);
  for (let n = 2; n <= 10; n += 1) {
    world.routed(provider.id, 'served');
    world.clock.advance(5 * MINUTE);
    await world.result(provider.id, n);
  }
  expect(posts(provider)).toBe(1);
});

test('a machine that fails a request answers a test inference within a minute, and none if it has answered another since', async () => {
  const { world, provider } = await startOne();
  await world.result(provider.id);
  world.routed(provider.id, 'failed');
  world.clock.advance(MINUTE);
  await world.result(provider.id, 2);
  expect(posts(provider)).toBe(2);
  world.routed(provider.id, 'failed');
  world.routed(provider.id, 'served');
  world.clock.advance(2 * MINUTE);
  await turn();
  expect(world.results(provider.id)).toHaveLength(2);
});

test('a machine that fails is tried again after 30 s, 1 and 2 min, and loses its verification with the third failure', async () => {
  const { world, provider } = await startOne();
  await world.result(provider.id);
  provider.on('/health', json(500, {}));
  const results: (readonly [state: string, hasAddress: boolean])[] = [];
  let n = 1;
  for (const ms of [5 * MINUTE, 30_000, MINUTE, 2 * MINUTE]) {
    world.clock.advance(ms - 10);
    await turn();
    expect(world.results(provider.id)).toHaveLength(n);
    world.clock.advance(11);
    n += 1;
    const { state, address } = await world.result(provider.id, n);
    results.push([state, address !== null]);
  }
  const [kept, lost] = [
    ['verified', true],
    ['failed', false],
  ];
  expect(results).toEqual([kept, kept, lost, lost]);
});

test.each([
  ['starts after its machine was found without one', { status: 'no engine found', code: 0 }],
  ['gets its first model after its machine was found without one', { status: 'ok', code: 200 }],
])('an engine that %s is verified within a second', async (_what, engine_health) => {
  const without = { engine_health, models: [], current_model: null };
  const { world, provider } = await startOne((made, one) =>
    made.change(one.id, { record: recordAt(one.port, without) }),
  );
  const { record } = aloneAt(provider);
  expect(await world.result(provider.id)).toMatchObject({ state: 'failed', failedRuns: 1 });
  expect(posts(provider)).toBe(0);
  world.change(provider.id, { record, materialChanges: 2, verification: UNVERIFIED });
  world.providerChanged(provider.id, ['material', 'engineHealth']);
  world.clock.advance(1_000);
  expect(await world.result(provider.id, 2)).toMatchObject({ state: 'verified' });
  expect(posts(provider)).toBe(1);
});

test('a first inference without an answer is attributed to loading, and a second one is not', async () => {
  const { world, provider } = await startOne();
  provider.on('/v1/chat/completions', silence);
  await provider.call('/v1/chat/completions');
  world.clock.advance(10_000);
  expect(await world.result(provider.id)).toMatchObject({ state: 'pending' });
  world.clock.advance(15_000);
  await provider.call('/v1/chat/completions', 2);
  world.clock.advance(10_000);
  expect(await world.result(provider.id, 2)).toMatchObject({ state: 'failed', failedRuns: 1 });
});

test('a result is discarded if its machine has changed meanwhile, and the run is repeated', async () => {
  const { world, provider } = await startOne();
  provider.on('/health', silence);
  const call = await provider.call('/health');
  world.change(provider.id, { materialChanges: 2 });
  world.providerChanged(provider.id, ['material']);
  provider.on('/health', provider.healthy);
  provider.healthy(call);
  await provider.call('/v1/models');
  while (world.running().size > 0) await turn();
  await turn();
  expect(world.results(provider.id)).toEqual([]);
  world.clock.advance(15_000);
  expect(await world.result(provider.id)).toMatchObject({ state: 'pending', address: null });
  expect(posts(provider)).toBe(1);
  world.clock.advance(45_000);
  expect(await world.result(provider.id, 2)).toMatchObject({ state: 'verified' });
});

test('another model soon after a test is checked within 15 s, used meanwhile, and tested after a minute', async () => {
  const { world, provider } = await startOne();
  const { address } = await world.result(provider.id);
  const { record } = aloneAt(provider);
  const models = ['another'];
  provider.on('/v1/models', json(200, { data: [{ id: 'another' }] }));
  world.change(provider.id, {
    record: { ...record, models, current_model: 'another' },
    materialChanges: 2,
    verification: { ...UNVERIFIED, address },
  });
  world.providerChanged(provider.id, ['material']);
  world.clock.advance(15_000);
  expect(await world.result(provider.id, 2)).toMatchObject({ state: 'pending', address });
  expect(posts(provider)).toBe(1);
  world.clock.advance(45_000);
  expect(await world.result(provider.id, 3)).toMatchObject({ state: 'verified', address });
  expect(posts(provider)).toBe(2);
});

test('a removed machine has no result and no further turn', async () => {
  const { world, provider } = await startOne();
  provider.on('/health', silence);
  const { socket } = await provider.call('/health');
  const closed = new Promise((resolve) => socket.on('close', resolve));
  world.drop(provider.id);
  world.removed(provider.id);
  await closed;
  await turn();
  world.clock.advance(60 * MINUTE);
  expect(world.running().size).toBe(0);
  expect(world.clock.pending()).toBe(0);
});

test('a stop ends all verifications at once and leaves no timer', async () => {
  const { providers, world } = await startSilent(6);
  await world.stop();
  expect(world.running().size).toBe(0);
  expect(world.clock.pending()).toBe(0);
  expect(providers.flatMap(({ id }) => world.results(id))).toEqual([]);
  for (const { id } of providers) world.providerChanged(id, ['requested']);
  expect(world.clock.pending()).toBe(0);
});

test.each<[says: string, record: () => RecordResult]>([
  ['cannot be written', () => ({ kind: 'unwritten', message: 'disk full' })],
  ['meets a fault', () => expect.unreachable('a fault')],
])('a verification result that %s is tried again later', async (_says, record) => {
  const { world, provider } = await startOne((made) => void (made.record = record));
  await provider.call('/v1/models');
  while (world.running().size > 0) await turn();
  await turn();
  world.record = () => ({ kind: 'recorded' });
  world.clock.advance(MINUTE);
  expect(await world.result(provider.id)).toMatchObject({ state: 'verified' });
});
