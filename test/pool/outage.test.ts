import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { startCutProxy } from '../faults/cut-proxy.ts';
import { createAgent, recordOf, type TestAgent } from '../registry/world.ts';
import {
  IMPATIENT as times,
  openShared,
  type PooledRegistry,
  startPooledRegistry,
} from '../support/pool.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';
import { document, keep, put, storedProvider } from '../support/store.ts';

const postgres = usePostgres();

async function joinedAt(
  { registry }: PooledRegistry,
  agent = createAgent(systemClock),
): Promise<TestAgent> {
  const made = await registry.newEnrollment('http://gateway:47900');
  const token = made.kind === 'answered' ? made.body.token : '';
  expect(await registry.handleEnroll(agent.enroll(token))).toMatchObject({ kind: 'answered' });
  return agent;
}

const beat = ({ registry }: PooledRegistry, agent: TestAgent, models = ['m']) =>
  registry.handleHeartbeat(agent.heartbeat(recordOf({ models, current_model: models[0] ?? null })));

async function verify({ registry }: PooledRegistry, id: string, address: string): Promise<void> {
  const host = registry.verifierHost;
  const turn = (await host.turn?.(id)) ?? undefined;
  const recorded = await host.verificationDone(
    id,
    host.subject(id)?.materialChanges ?? -1,
    {
      state: 'verified',
      checks: [],
      lastCheckAt: 1,
      lastInferenceAt: 1,
      failedRuns: 0,
      address,
    },
    turn,
  );
  turn?.release();
  expect(recorded).toEqual({ kind: 'recorded' });
}

/** A verified machine at two gateways. */
async function scene() {
  const url = await postgres.database();
  const a = await startPooledRegistry(url, 'gw_a', { times });
  const b = await startPooledRegistry(url, 'gw_b', { times });
  const agent = await joinedAt(a);
  await beat(a, agent);
  await verify(a, agent.id, 'http://192.168.1.20:3001');
  await expect.poll(() => b.registry.targets().length).toBe(1);
  return { url, a, b, agent };
}

/** A way to the database that only one gateway takes, and its address there. */
async function wayTo(url: string) {
  const way = await startCutProxy(postgres.port);
  onTestFinished(() => way.close());
  const far = new URL(url);
  far.port = String(way.port);
  return { way, far: far.href };
}

const addressAt = ({ registry }: PooledRegistry) => registry.targets()[0]?.address;

const databaseOf = ({ pool }: PooledRegistry) => pool.status().database;

describe.runIf(POSTGRES_SKIPPED === null)('a pool without its database', () => {
  test('routing goes on without the database, nothing is acknowledged, and what was heard is written afterwards', async () => {
    const { a, b, agent } = await scene();
    await postgres.kill();
    await beat(a, agent);
    const refused = await beat(a, agent, ['m2', 'm']);
    expect(refused).toMatchObject({ kind: 'refused', code: 'registry_unwritten', status: 503 });
    await expect.poll(() => databaseOf(b)).toBe('away');
    expect(a.registry.targets()).toMatchObject([{ id: agent.id, currentModel: 'm2' }]);
    expect(b.registry.targets()).toMatchObject([{ id: agent.id, currentModel: 'm' }]);
    expect(await b.registry.newEnrollment('http://x')).toMatchObject({
      code: 'registry_unwritten',
      message: expect.stringContaining('does not answer'),
    });
    // Whom it does not know may have joined elsewhere: nobody is sent away for good.
    const stranger = createAgent(systemClock);
    const toStranger = [
      await beat(b, stranger),
      await b.registry.handleEnroll(stranger.enroll('0'.repeat(64))),
      await b.registry.remove(stranger.id),
    ];
    for (const answer of toStranger) expect(answer).toMatchObject({ code: 'registry_unwritten' });
    await postgres.start();
    await expect.poll(() => [databaseOf(a), databaseOf(b)]).toEqual(['connected', 'connected']);
    // Without another heartbeat: what was not acknowledged is told all the same.
    await expect
      .poll(() => b.registry.get(agent.id))
      .toMatchObject({ current_model: 'm2', verification: { status: 'pending' } });
    expect(await beat(b, agent, ['m2', 'm'])).toMatchObject({ kind: 'answered' });
    const countAt = ({ registry }: PooledRegistry) => registry.get(agent.id)?.heartbeat_count;
    await expect.poll(() => countAt(a)).toBe(countAt(b));
    expect(countAt(a)).toBe(4);
  });

  test('an enrolment that was refused does not hide what another gateway heard before it', async () => {
    const { a, b, agent } = await scene();
    const made = await a.registry.newEnrollment('http://gateway:47900');
    const token = made.kind === 'answered' ? made.body.token : '';
    await postgres.kill();
    const unwritten = { code: 'registry_unwritten' };
    expect(await beat(b, agent, ['m3', 'm'])).toMatchObject(unwritten);
    expect(await a.registry.handleEnroll(agent.enroll(token))).toMatchObject(unwritten);
    await postgres.start();
    const seenAt = ({ registry }: PooledRegistry) => registry.get(agent.id);
    await expect.poll(() => seenAt(a)).toMatchObject({ current_model: 'm3', heartbeat_count: 2 });
    expect(seenAt(b)).toMatchObject({ current_model: 'm3', heartbeat_count: 2 });
  });

  test('a database that has stopped answering counts as gone, and a lease on it is lost', async () => {
    const { a, b, agent } = await scene();
    const lease = await a.pool.lease('work');
    expect(lease).not.toBeNull();
    postgres.pause();
    try {
      const answers = await Promise.all([beat(a, agent), beat(b, agent)]);
      for (const answer of answers) expect(answer).toMatchObject({ code: 'registry_unwritten' });
      await expect.poll(() => lease?.lost.aborted).toBe(true);
      expect(await a.pool.lease('other')).toBeNull();
      expect(a.registry.targets()).toHaveLength(1);
    } finally {
      postgres.resume();
    }
    await expect.poll(() => [databaseOf(a), databaseOf(b)]).toEqual(['connected', 'connected']);
    expect(await beat(b, agent)).toMatchObject({ kind: 'answered' });
  });

  test('the writes that wait for a database that does not answer are bounded', async () => {
    const { a } = await scene();
    postgres.pause();
    try {
      const writes = Array.from({ length: 7000 }, (_, n) => a.store.write([document('n', `${n}`)]));
      const results = await Promise.all(writes);
      const told = results.map((result) => (result.kind === 'unwritten' ? result.message : ''));
      expect(
        told.filter((text) => text.includes('Too many writes are waiting')).length,
      ).toBeGreaterThan(1000);
      expect(told.every((text) => text !== '')).toBe(true);
    } finally {
      postgres.resume();
    }
    await expect.poll(() => databaseOf(a)).toBe('connected');
    expect(await a.store.write([document('n', '1')])).toMatchObject({ kind: 'written' });
  });

  test('writes that fail are undone before the database is read again', async () => {
    const { store, pool } = await openShared(await postgres.database(), 'gw_a', { times });
    const [most, workMs] = [5000, 0.4];
    let settled = 0;
    const settledWhenRead = Promise.withResolvers<number>();
    postgres.pause();
    try {
      const first = Promise.withResolvers<void>();
      const write = async (n: number) => {
        await store.write([document('n', `${n}`)]);
        const endAt = performance.now() + workMs;
        while (performance.now() < endAt);
        settled += 1;
        first.resolve();
      };
      for (let n = 0; n < most; n += 1) void write(n);
      pool.onChanges(({ all }) => void (all !== null && settledWhenRead.resolve(settled)));
      await first.promise;
    } finally {
      postgres.resume();
    }
    expect(await settledWhenRead.promise).toBe(most);
  });

  test('a gateway reads the records of all machines after an outage, also of those that it has heard itself', async () => {
    const { store, pool, changes } = await openShared(await postgres.database(), 'gw_a', { times });
    const id = (n: number) => `prv_${String(n).padStart(32, '0')}`;
    // Several pages, of which each ends with a commit.
    for (let first = 0; first < 600; first += 50) {
      const ids = Array.from({ length: 50 }, (_, n) => id(first + n));
      await keep(store, ...ids.map((each) => put({ id: each, sequence: 1 })));
      const heard = ids.map((each) => storedProvider({ id: each, sequence: 2 }));
      await keep(
        store,
        ...heard.map((provider) => ({ kind: 'provider', part: 'heartbeat', provider }) as const),
      );
    }
    await postgres.kill();
    await expect.poll(() => pool.status().database).toBe('away');
    const before = changes.length;
    await postgres.start();
    await expect.poll(() => pool.status().database).toBe('connected');
    const read = changes.slice(before).flatMap(({ providers }) => providers);
    expect(new Set(read.map(({ provider }) => provider.id)).size).toBe(600);
    expect(read.filter(({ provider }) => provider.record === null)).toEqual([]);
    expect(read.filter(({ isOwnReport }) => isOwnReport)).toEqual([]);
  });

  test('a gateway that was cut off while a machine was removed and joined again takes its new verification', async () => {
    const { url, b, agent } = await scene();
    const { way, far } = await wayTo(url);
    const away = await startPooledRegistry(far, 'gw_far', { times });
    // The second run that it knows of; the numbers of runs begin again with the machine.
    await verify(b, agent.id, 'http://192.168.1.21:3001');
    await expect.poll(() => addressAt(away)).toBe('http://192.168.1.21:3001');
    way.cut();
    await expect.poll(() => databaseOf(away)).toBe('away');
    expect(await b.registry.remove(agent.id)).toMatchObject({ kind: 'answered' });
    await joinedAt(b, agent);
    await beat(b, agent);
    await verify(b, agent.id, 'http://192.168.1.22:3001');
    way.heal();
    await expect.poll(() => databaseOf(away)).toBe('connected');
    await expect.poll(() => addressAt(away)).toBe('http://192.168.1.22:3001');
  });

  test('a lease that is given up while the database is away is not renewed once it is back', async () => {
    const url = await postgres.database();
    const { way, far } = await wayTo(url);
    const [a, b] = [await openShared(far, 'gw_a', { times }), await openShared(url, 'gw_b')];
    const lease = await a.pool.lease('work');
    way.cut();
    await expect.poll(() => a.pool.status().database).toBe('away');
    lease?.release();
    way.heal();
    await expect.poll(() => b.pool.lease('work')).not.toBeNull();
  });

  test('a gateway that starts without the database begins with nothing, and has everything once it is there', async () => {
    const { url, agent } = await scene();
    await postgres.kill();
    const started = await startPooledRegistry(url, 'gw_late', { times });
    expect(started.registry.counts().count).toBe(0);
    await postgres.start();
    await expect.poll(() => started.registry.targets().map(({ id }) => id)).toEqual([agent.id]);
  });
});
