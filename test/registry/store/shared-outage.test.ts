import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../main/platform/clock.ts';
import {
  beat,
  IMPATIENT as times,
  type PooledRegistry,
  startPooledRegistry,
  startTwo,
  tokenOf,
  verify,
} from '../../support/pooled.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../../support/postgres.ts';
import { put } from '../../support/store.ts';
import { createAgent, type TestAgent } from '../world.ts';

const postgres = usePostgres();

const beatWith = (at: PooledRegistry, agent: TestAgent, models: readonly string[]) =>
  beat(at, agent, { models, current_model: models[0] });

/** A verified machine at two gateways. */
async function scene() {
  const url = await postgres.database();
  const [a, b] = await startTwo(url, { times });
  const agent = createAgent(systemClock);
  await a.registry.handleEnroll(agent.enroll(await tokenOf(a)));
  await beatWith(a, agent, ['m']);
  expect(await verify(a, agent.id)).toBe('recorded');
  await expect.poll(() => b.registry.targets().length).toBe(1);
  return { url, a, b, agent };
}

const problemsOf = (...all: readonly PooledRegistry[]) =>
  all.map(({ shared }) => shared.problem() !== null);

const UNWRITTEN = { kind: 'refused', code: 'registry_unwritten', status: 503 };

describe.runIf(POSTGRES_SKIPPED === null)('a pool without its database', () => {
  test('routing continues without the database; heartbeats count here but are not acknowledged, and the next ones are written', async () => {
    const { a, b, agent } = await scene();
    await postgres.kill();
    await expect.poll(() => problemsOf(a, b)).toEqual([true, true]);
    expect(await beatWith(a, agent, ['m2', 'm'])).toMatchObject(UNWRITTEN);
    expect(a.registry.targets()).toMatchObject([{ id: agent.id, currentModel: 'm2' }]);
    expect(b.registry.targets()).toMatchObject([{ id: agent.id, currentModel: 'm' }]);
    expect(await b.registry.newEnrollment('http://x')).toMatchObject({
      ...UNWRITTEN,
      message: expect.stringContaining('does not answer'),
    });
    expect(await a.registry.verifierHost.lease(agent.id)).toBeNull();
    // Whom it does not know may have joined elsewhere: nobody is sent away for good.
    const stranger = createAgent(systemClock);
    expect(await beat(b, stranger)).toMatchObject(UNWRITTEN);
    const toStranger = await b.registry.handleEnroll(stranger.enroll('0'.repeat(64)));
    expect(toStranger).toMatchObject(UNWRITTEN);
    await postgres.start();
    await expect.poll(() => problemsOf(a, b)).toEqual([false, false]);
    // What changed during the outage has its new verification, although no later heartbeat shows the change.
    expect(await beatWith(a, agent, ['m2', 'm'])).toMatchObject({ kind: 'answered' });
    await expect
      .poll(() => b.registry.get(agent.id))
      .toMatchObject({ current_model: 'm2', verification: { status: 'pending' } });
    expect(await verify(b, agent.id)).toBe('recorded');
    await expect.poll(() => a.registry.get(agent.id)?.verification.status).toBe('verified');
  });

  test('a database that has stopped answering counts as gone, and the writes that wait are answered', async () => {
    const { a, b, agent } = await scene();
    postgres.pause();
    try {
      const writes = Array.from({ length: 3000 }, (_, n) => a.store.write([put({ sequence: n })]));
      const kinds = (await Promise.all(writes)).map(({ kind }) => kind);
      expect(new Set(kinds)).toEqual(new Set(['unwritten']));
      await expect.poll(() => problemsOf(a, b)).toEqual([true, true]);
      expect(await beat(b, agent)).toMatchObject(UNWRITTEN);
      expect(a.registry.targets()).toHaveLength(1);
      // A gateway can stop meanwhile.
      await a.store.close();
    } finally {
      postgres.resume();
    }
    await expect.poll(() => problemsOf(b)).toEqual([false]);
    expect(await beat(b, agent)).toMatchObject({ kind: 'answered' });
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
