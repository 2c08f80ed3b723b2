import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../main/platform/clock.ts';
import { silentLog } from '../../../main/platform/log.ts';
import { createVerifier, type Verifier } from '../../../main/registry/verification/verifier.ts';
import {
  beat,
  openShared,
  type PooledRegistry,
  startPooledRegistry,
  startTwo,
  tokenOf,
  VERIFIED,
  verify,
} from '../../support/pooled.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../../support/postgres.ts';
import { keep, put, storedProvider } from '../../support/store.ts';
import { aloneAt, edgesFor, type FakeProvider, json, startFakeProvider } from '../fake-provider.ts';
import { createAgent, recordOf, type TestAgent } from '../world.ts';

const postgres = usePostgres();

const twoGateways = async () => startTwo(await postgres.database());

/** A machine that has joined at one gateway and is known at the other. */
async function joined(at: PooledRegistry, other: PooledRegistry): Promise<TestAgent> {
  const agent = createAgent(systemClock);
  await at.registry.handleEnroll(agent.enroll(await tokenOf(at)));
  expect(await beat(at, agent)).toMatchObject({ kind: 'answered' });
  await expect.poll(() => other.registry.get(agent.id)).not.toBeNull();
  return agent;
}

const targetsAt = ({ registry }: PooledRegistry) => registry.targets().map(({ id }) => id);

describe.runIf(POSTGRES_SKIPPED === null)('two gateways on one database', () => {
  test('a machine that joins at one gateway is known at the other within a second, which takes its heartbeats', async () => {
    const [a, b] = await twoGateways();
    const agent = await joined(a, b);
    expect(await beat(b, agent, { current_model: 'llama-8b' })).toMatchObject({ kind: 'answered' });
    await expect
      .poll(() => a.registry.get(agent.id), { timeout: 1000 })
      .toMatchObject({ current_model: 'llama-8b', heartbeat_count: 2, status: 'serving' });
    expect(await beat(a, agent)).toMatchObject({ kind: 'answered' });
  });

  test('a join command names all addresses of the pool, the gateway’s own first', async () => {
    const addresses = ['http://attic:47900', 'http://cellar:47900', 'http://lab:47900'];
    const url = await postgres.database();
    const { registry } = await startPooledRegistry(url, 'gw_a', { addresses });
    const made = await registry.newEnrollment('http://cellar:47900');
    const ordered = 'http://cellar:47900,http://attic:47900,http://lab:47900';
    expect(made).toMatchObject({ body: { join: expect.stringContaining(`join ${ordered} `) } });
  });

  test('any gateway accepts a join token, once, even if machines use it at the same moment', async () => {
    const [a, b] = await twoGateways();
    const token = await tokenOf(a);
    const answers = await Promise.all(
      [a, b, a, b].map(({ registry }) =>
        registry.handleEnroll(createAgent(systemClock).enroll(token)),
      ),
    );
    const codes = answers.map((each) => (each.kind === 'answered' ? 'joined' : each.code));
    expect(codes.toSorted()).toEqual(['invalid_token', 'invalid_token', 'invalid_token', 'joined']);
    const late = await b.registry.handleEnroll(createAgent(systemClock).enroll(token));
    expect(late).toMatchObject({ code: 'invalid_token' });
  });

  test('a heartbeat that one gateway has accepted is refused by the other, even at the same moment', async () => {
    const [a, b] = await twoGateways();
    const agent = await joined(a, b);
    for (let round = 0; round < 20; round += 1) {
      const message = agent.heartbeat(recordOf());
      const send = ({ registry }: PooledRegistry) => registry.handleHeartbeat(message);
      const answers = await Promise.all([send(a), send(b)]);
      const codes = answers.map((each) => (each.kind === 'answered' ? 'taken' : each.code));
      expect(codes.toSorted()).toEqual(['sequence_reused', 'taken']);
      expect(await Promise.all([send(a), send(b)])).toMatchObject(
        Array.from({ length: 2 }, () => ({
          code: 'sequence_reused',
          headers: { 'x-gateway-sequence': String(agent.sequence) },
        })),
      );
    }
  });

  test('a machine that one gateway has verified is routed to by the other within a second', async () => {
    const [a, b] = await twoGateways();
    const { id } = await joined(a, b);
    expect(await verify(a, id)).toBe('recorded');
    await expect.poll(() => targetsAt(b), { timeout: 1000 }).toEqual([id]);
    expect(targetsAt(a)).toEqual([id]);
  });

  test('a verification result is dropped if the machine has changed at the other gateway meanwhile', async () => {
    const [a, b] = await twoGateways();
    const agent = await joined(a, b);
    const { verifierHost: host } = a.registry;
    const materialChanges = host.subject(agent.id)?.materialChanges ?? -1;
    const release = await host.lease(agent.id);
    await beat(b, agent, { models: ['another'], current_model: 'another' });
    expect(await verify(b, agent.id)).toBeNull();
    const recorded = await host.verificationDone(agent.id, materialChanges, VERIFIED);
    expect(recorded).toEqual({ kind: 'outdated' });
    release?.();
    for (const { registry } of [a, b])
      await expect
        .poll(() => registry.get(agent.id))
        .toMatchObject({ current_model: 'another', verification: { status: 'pending' } });
    await expect
      .poll(() => a.news.some(([id, news]) => id === agent.id && news.includes('material')))
      .toBe(true);
  });

  test('changes that come late to one gateway do not hide the verification that follows at the other', async () => {
    const [a, b] = await twoGateways();
    const agent = await joined(a, b);
    const changeTo = (model: string) =>
      agent.heartbeat(recordOf({ models: [model], current_model: model }));
    const earlier = [changeTo('one'), changeTo('two')];
    const last = changeTo('three');
    expect(await b.registry.handleHeartbeat(last)).toMatchObject({ kind: 'answered' });
    // Before it has read that: each counts as a change there, and neither is written.
    for (const late of earlier)
      expect(await a.registry.handleHeartbeat(late)).toMatchObject({ kind: 'refused' });
    expect(await verify(b, agent.id)).toBe('recorded');
    for (const { registry } of [a, b])
      await expect
        .poll(() => registry.get(agent.id))
        .toMatchObject({ current_model: 'three', verification: { status: 'verified' } });
  });

  test('a machine that is removed at one gateway is gone at the other, and its heartbeats are refused', async () => {
    const [a, b] = await twoGateways();
    const agent = await joined(a, b);
    expect(await a.registry.remove(agent.id)).toMatchObject({ kind: 'answered' });
    await expect.poll(() => b.registry.get(agent.id), { timeout: 1000 }).toBeNull();
    expect(await beat(b, agent)).toMatchObject({ code: 'unknown_provider' });
  });

  test('the owner’s note of a machine is the same at both gateways, until the note or the machine is removed', async () => {
    const url = await postgres.database();
    const [a, b] = await startTwo(url);
    const agent = await joined(a, b);
    const note = { name: 'Tower in the attic', note: 'Ask Kim before a restart.' };
    const notesOf = ({ registry }: PooledRegistry) => registry.notes().notes[agent.id];
    expect(await a.registry.setNote(agent.id, note)).toMatchObject({ kind: 'answered' });
    await expect.poll(() => notesOf(b)).toEqual(note);
    const later = await startPooledRegistry(url, 'gw_c');
    expect(notesOf(later)).toEqual(note);
    await b.registry.setNote(agent.id, { name: '', note: '' });
    await expect.poll(() => [notesOf(a), notesOf(later)]).toEqual([undefined, undefined]);
    await b.registry.setNote(agent.id, note);
    await b.registry.remove(agent.id);
    await expect.poll(() => [notesOf(a), notesOf(b)]).toEqual([undefined, undefined]);
    expect((await startPooledRegistry(url, 'gw_d')).registry.notes()).toEqual({ notes: {} });
  });

  test('the machine that a gateway runs on is not a machine of any other gateway', async () => {
    const url = await postgres.database();
    const [a, b] = await startTwo(url);
    const own = createAgent(systemClock);
    await a.registry.adoptOwn(own.publicKey);
    await a.registry.ownHeartbeat(own.id, recordOf());
    const agent = await joined(a, b);
    expect(b.registry.ids(10)).toEqual([agent.id]);
    expect(await verify(a, own.id)).toBe('recorded');
    await a.registry.ownHeartbeat(own.id, recordOf());
    expect(targetsAt(a)).toEqual([own.id]);
    const { state } = await openShared(url, 'gw_a');
    expect(state.providers.map(({ id }) => id).toSorted()).toEqual([own.id, agent.id].toSorted());
  });

  test('a gateway reads what others changed while its connection was broken', async () => {
    const url = await postgres.database();
    const ids = Array.from({ length: 120 }, (_, n) => `prv_${String(n).padStart(32, '0')}`);
    const { store } = await openShared(url, 'gw_b');
    await keep(store, ...ids.map((id) => put({ id, sequence: 1 })));
    const a = await startPooledRegistry(url, 'gw_a');
    expect(a.registry.counts().count).toBe(120);
    await postgres.query(
      url,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
    );
    const [first = '', second = ''] = ids;
    const heard = storedProvider({ id: second, sequence: 2 });
    const changes = [
      { kind: 'provider_removed', id: first },
      { kind: 'provider', part: 'heartbeat', provider: heard },
    ] as const;
    // The first tries find that a connection was ended, and the store has two: a write may pass before it knows of both.
    await expect.poll(() => store.write(changes)).toMatchObject({ kind: 'written' });
    await expect.poll(() => a.registry.get(first)).toBeNull();
    await expect
      .poll(() => a.registry.get(second)?.heartbeat_count)
      .toBe(storedProvider().heartbeatCount + 1);
  });
});

/** A machine that the pool knows and nobody has verified yet. */
function known(provider: FakeProvider) {
  const { id, record, lastHeartbeatIp, verification } = aloneAt(provider);
  const heard = { record, lastHeartbeatAt: Date.now(), lastHeartbeatIp };
  return put({ id, publicKey: provider.publicKey, sequence: 1, ...heard, verification });
}

/** A gateway with the real verifier, which finds its machines at the ports of `providers`. */
async function startVerifying(url: string, home: string, providers: readonly FakeProvider[]) {
  const gateway = await startPooledRegistry(url, home, {
    verifier: {
      providerChanged: (machine, news) => verifier.providerChanged(machine, news),
      removed: (machine) => verifier.removed(machine),
    },
  });
  const verifier: Verifier = createVerifier({
    ...edgesFor({ port: 0 }, systemClock),
    rules: { ports: providers.map((each) => each.port), hostPort: 1, ownPorts: () => [] },
    host: gateway.registry.verifierHost,
    log: silentLog,
  });
  onTestFinished(() => verifier.stop());
  return { ...gateway, verifier };
}

/** Counts how many test inferences a machine is asked for, in all and at the same moment. */
function countInferences(provider: FakeProvider) {
  const count = { asked: 0, now: 0, most: 0 };
  provider.on('/v1/chat/completions', (call) => {
    count.asked += 1;
    count.now += 1;
    count.most = Math.max(count.most, count.now);
    systemClock.after(200, () => {
      count.now -= 1;
      json(200, { choices: [{ index: 0, message: { content: 'OK' } }] })(call);
    });
  });
  return count;
}

describe.runIf(POSTGRES_SKIPPED === null)('three gateways of a pool that verify', () => {
  test('each machine is verified once, by one gateway of the pool, and all of them route to it', async () => {
    const url = await postgres.database();
    const providers = await Promise.all(Array.from({ length: 8 }, () => startFakeProvider()));
    const counts = providers.map(countInferences);
    const { store } = await openShared(url, 'gw_first');
    await keep(store, ...providers.map(known));
    const homes = ['gw_a', 'gw_b', 'gw_c'];
    const gateways = await Promise.all(homes.map((home) => startVerifying(url, home, providers)));
    for (const { verifier } of gateways) verifier.start();
    for (const { registry } of gateways)
      await expect.poll(() => registry.targets().length).toBe(providers.length);
    expect(counts.map(({ asked }) => asked)).toEqual(providers.map(() => 1));
  });

  test('a machine whose gateway died while it verified it is verified by another one, and no result comes late', async () => {
    const url = await postgres.database();
    const [dead, b] = await startTwo(url);
    const { id } = await joined(dead, b);
    expect(await dead.registry.verifierHost.lease(id)).toBeTypeOf('function');
    expect(await verify(b, id)).toBeNull();
    // As the time of a run goes by.
    await postgres.query(
      url,
      `UPDATE inglenook.providers SET verifier_until = verifier_until - interval '75 s'`,
    );
    expect(await verify(b, id)).toBe('recorded');
    const failed = { ...VERIFIED, state: 'failed', address: null } as const;
    const { materialChanges = -1 } = dead.registry.verifierHost.subject(id) ?? {};
    const late = await dead.registry.verifierHost.verificationDone(id, materialChanges, failed);
    expect(late).toEqual({ kind: 'outdated' });
    await expect.poll(() => [dead, b].map(targetsAt)).toEqual([[id], [id]]);
  });
});
