import { expect, test } from 'vitest';
import type { ProviderStatus } from '#shared/provider.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';
import { createAgent, NO_TRAFFIC, recordOf, startRegistry, startVerified } from './world.ts';

type World = ReturnType<typeof startRegistry>;

const [HOUR_MS, DAY_MS] = [3_600_000, 24 * 3_600_000];

/** A clock that can jump without its timers having run, as after a suspend. */
function createJumpingClock() {
  const inner = createManualClock();
  let [jumpedTicks, jumpedMs] = [0, 0];
  return {
    ...inner,
    ticks: () => inner.ticks() + jumpedTicks,
    now: () => inner.now() + jumpedMs,
    jump(by: { readonly ticks: number; readonly wallMs: number }) {
      jumpedTicks += by.ticks;
      jumpedMs += by.wallMs;
    },
  };
}

async function withMachine(clock: ManualClock = createManualClock()) {
  const world = await startVerified({ clock });
  return { ...world, status: () => world.registry.get(world.id)?.status };
}

const listed = ({ registry }: World, query: Record<string, string> = {}) => {
  const list = registry.list(query);
  if (list.kind === 'refused') throw new Error(list.message);
  return list.body.data.map(({ id }) => id);
};

const eventsOf = async (world: World, id: string) =>
  (await world.store.events(id)).map(({ kind, text }) => `${kind} ${text}`).toReversed();

/** Resolves when what the registry wrote by itself is in the store. */
const written = () => new Promise(setImmediate);

test.each<[silentMs: number, status: ProviderStatus, isTarget: boolean]>([
  [0, 'serving', true],
  [44_999, 'serving', true],
  [45_000, 'stale', false],
  [89_999, 'stale', false],
  [90_000, 'offline', false],
  [DAY_MS, 'offline', false],
])(
  'a machine after %i ms of silence is %s, and may get requests: %j',
  async (ms, status, isTarget) => {
    const world = await withMachine();
    world.clock.advance(ms);
    expect([world.status(), world.registry.targets().length > 0]).toEqual([status, isTarget]);
  },
);

test.each(['serving', 'idle', 'paused', 'draining', 'degraded', 'offline'] as const)(
  'a machine that reports %s has that status, and gets requests only when it serves or is idle',
  async (status) => {
    const world = await withMachine();
    await world.beat(world.agent, { status });
    expect(world.status()).toBe(status);
    const isTarget = status === 'serving' || status === 'idle';
    expect(world.registry.targets().length > 0).toBe(isTarget);
  },
);

test('a machine leaves the default list after 24 h and is forgotten after 30 days', async () => {
  const clock = createJumpingClock();
  const world = await withMachine(clock);
  const { agent, registry } = world;
  clock.advance(DAY_MS - 1);
  expect([listed(world), registry.counts().count]).toEqual([[agent.id], 1]);
  clock.advance(1);
  expect([listed(world), registry.counts().count]).toEqual([[], 0]);
  expect(listed(world, { status: 'offline' })).toEqual([agent.id]);
  expect(registry.get(agent.id)?.status).toBe('offline');
  // In the longest steps that the registry does not take for an absence of its own.
  for (let left = 29 * DAY_MS - 1; left > 0; left -= 20_000) {
    const ms = Math.min(left, 20_000);
    clock.jump({ ticks: ms, wallMs: ms });
    registry.targets();
  }
  expect(registry.get(agent.id)).not.toBeNull();
  clock.advance(1000);
  expect(registry.get(agent.id)).toBeNull();
  await written();
  expect(world.store.state().providers).toEqual([]);
  expect(world.removed).toEqual([agent.id]);
  expect(await world.beat(agent)).toMatchObject({ code: 'unknown_provider' });
});

test('the history reports each change of status once, silence included, and a machine that said goodbye does not become stale', async () => {
  const world = await withMachine();
  const { agent, clock } = world;
  await world.beat(agent);
  clock.advance(HOUR_MS);
  await world.beat(agent, { status: 'idle' });
  await world.beat(agent, { status: 'idle' });
  await world.beat(agent, { status: 'offline' });
  clock.advance(50_000);
  expect(world.status()).toBe('offline');
  expect(await eventsOf(world, agent.id)).toEqual([
    'enrolled from 192.168.1.20',
    'status serving',
    'verification verified',
    'status stale',
    'status offline',
    'status idle',
    'status offline',
  ]);
});

test('a machine’s silence reaches the dashboard without anybody asking', async () => {
  const world = await withMachine();
  world.changed.length = 0;
  const before = world.registry.summary().revision;
  world.clock.advance(46_000);
  expect(world.changed).toEqual([world.agent.id]);
  expect(world.registry.summary().revision).toBeGreaterThan(before);
});

const restart = async (world: World, downMs: number) => {
  world.registry.stop();
  const { store } = world;
  const clock = createManualClock();
  clock.advance(world.clock.now() - clock.now() + downMs);
  return startRegistry({ store, clock });
};

test.each([1000, HOUR_MS, 40 * DAY_MS])(
  'a restart of %i ms counts against no machine: each has a whole interval to be heard',
  async (downMs) => {
    const before = await withMachine();
    before.clock.advance(30_000);
    const after = await restart(before, downMs);
    const machine = after.registry.get(before.agent.id);
    expect(machine).toMatchObject({ status: 'serving', verification: { status: 'verified' } });
    expect(after.registry.targets()).toHaveLength(1);
    after.clock.advance(44_999);
    expect(after.registry.targets()).toHaveLength(1);
    after.clock.advance(1);
    expect(after.registry.get(before.agent.id)?.status).toBe('stale');
  },
);

test('a restart does not bring back a machine that had fallen silent, though no other reported', async () => {
  const before = await withMachine();
  before.clock.advance(2 * HOUR_MS);
  await written();
  const after = await restart(before, HOUR_MS);
  expect(after.registry.get(before.agent.id)?.status).toBe('offline');
  expect(after.registry.targets()).toEqual([]);
});

test('a start with a clock that was far ahead makes no later start forget a machine', async () => {
  const before = await withMachine();
  const ahead = await restart(before, 365 * DAY_MS);
  ahead.clock.advance(20_000);
  const after = await restart(ahead, -365 * DAY_MS);
  after.clock.advance(5000);
  expect(after.registry.get(before.agent.id)).not.toBeNull();
});

test('a restart finds every provider as it was, and in the same order', async () => {
  const before = startRegistry();
  for (let count = 0; count < 5; count += 1) {
    await before.beat(await before.join());
    before.clock.advance(1);
  }
  const after = await restart(before, 0);
  expect(listed(after)).toEqual(listed(before));
  for (const id of listed(before)) expect(after.registry.get(id)).toEqual(before.registry.get(id));
});

test.each([
  ['a suspend that the monotonic clock counts', { ticks: HOUR_MS, wallMs: HOUR_MS }],
  ['a suspend that it does not count', { ticks: 0, wallMs: HOUR_MS }],
  ['a wall clock that is set forward', { ticks: 0, wallMs: 365 * DAY_MS }],
  ['a wall clock that is set back', { ticks: 0, wallMs: -365 * DAY_MS }],
])('a jump of time by %s makes no machine stale that was present', async (_what, jump) => {
  const clock = createJumpingClock();
  const world = await withMachine(clock);
  clock.advance(20_000);
  clock.jump(jump);
  expect(world.status()).toBe('serving');
  expect(world.registry.targets()).toHaveLength(1);
  clock.advance(20_000);
  expect(world.status()).toBe('serving');
  clock.advance(25_000);
  expect(world.status()).toBe('stale');
});

test('the machine of the gateway is missed once it has served, also if it comes back without its engine', async () => {
  const { registry, clock } = startRegistry({
    traffic: () => ({ ...NO_TRAFFIC, successCount: 1 }),
  });
  const { id } = await registry.adoptOwn(createAgent(clock).publicKey);
  const engine_health = { status: 'no engine found', code: 0 };
  const bare = recordOf({ status: 'degraded', models: [], current_model: null, engine_health });
  await registry.ownHeartbeat(id, bare);
  expect([registry.reason(), registry.absence()]).toEqual(['no_provider', 'engine']);
});
