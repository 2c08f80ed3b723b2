import { expect, test } from 'vitest';
import type { AgentRecord } from '#shared/provider.ts';
import { createManualClock } from '../support/clock.ts';
import { createAgent, device, HEARTBEAT, recordOf, startRegistry, startVerified } from './world.ts';

test('a heartbeat that cannot be written is not acknowledged, but the machine counts as present', async () => {
  const { agent, beat, store, registry, clock } = await startVerified();
  store.fail('the disk is full');
  const unwritten = { status: 503, code: 'registry_unwritten', message: 'the disk is full' };
  for (let count = 0; count < 4; count += 1) {
    clock.advance(15_000);
    expect(await beat(agent)).toMatchObject(unwritten);
  }
  expect(registry.targets()).toHaveLength(1);
  store.fail(null);
  expect(await beat(agent)).toMatchObject({ kind: 'answered' });
  expect(store.state().providers[0]?.heartbeatCount).toBe(6);
});

test('of many copies of a heartbeat that come at the same time, only one counts', async () => {
  const { join, registry, store } = startRegistry();
  const agent = await join();
  const message = agent.heartbeat(recordOf());
  const release = store.hold();
  const answers = Array.from({ length: 5 }, () => registry.handleHeartbeat(message));
  release();
  const kinds = (await Promise.all(answers)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'answered')).toHaveLength(1);
  expect(registry.get(agent.id)?.heartbeat_count).toBe(1);
});

test('the sequence is kept over a restart', async () => {
  const before = startRegistry();
  const agent = await before.join();
  const message = agent.heartbeat(recordOf());
  await before.registry.handleHeartbeat(message);
  const after = startRegistry({ store: before.store, clock: before.clock });
  expect(await after.registry.handleHeartbeat(message)).toMatchObject({ code: 'sequence_reused' });
  expect(await after.beat(agent)).toMatchObject({ kind: 'answered' });
});

test('a record that was refused does not use up its sequence', async () => {
  const { join, beat, registry } = startRegistry();
  const agent = await join();
  const { sequence } = agent;
  await registry.handleHeartbeat(agent.heartbeat({ ...recordOf(), chip: 7 }));
  agent.sequence = sequence;
  expect(await beat(agent)).toMatchObject({ kind: 'answered' });
});

test('each gateway counts the sequence for itself', async () => {
  const [a, b] = [startRegistry(), startRegistry()];
  const agent = createAgent(a.clock);
  await a.join(agent);
  const message = agent.heartbeat(recordOf());
  await a.registry.handleHeartbeat(message);
  // Taken to a gateway that does not know the machine, and to one that has heard more of it.
  expect(await b.registry.handleHeartbeat(message)).toMatchObject({ code: 'unknown_provider' });
  await b.join(agent);
  expect(await b.registry.handleHeartbeat(message)).toMatchObject({ code: 'sequence_reused' });
  expect(await b.beat(agent)).toMatchObject({ kind: 'answered' });
  expect(await a.beat(agent)).toMatchObject({ kind: 'answered' });
});

test.each([
  [-121, { kind: 'refused', status: 401, code: 'clock_skew' }],
  [-120, { kind: 'answered' }],
  [120, { kind: 'answered' }],
  [121, { kind: 'refused', status: 401, code: 'clock_skew' }],
])('a signature made %i s from now is %j', async (offsetS, expected) => {
  const { join, registry, clock } = startRegistry();
  const agent = await join();
  const createdS = clock.now() / 1000 + offsetS;
  const body = Buffer.from(JSON.stringify(recordOf()));
  const answer = await registry.handleHeartbeat(agent.message(HEARTBEAT, body, { createdS }));
  expect(answer).toMatchObject(expected);
});

const send = async (body: string) => {
  const { join, registry } = startRegistry();
  const agent = await join();
  const answer = await registry.handleHeartbeat(agent.message(HEARTBEAT, Buffer.from(body)));
  return { answer, provider: registry.get(agent.id) };
};

test.each<[field: string, change: object]>([
  ['chip', { chip: 7 }],
  ['chip', { chip: 'x'.repeat(1025) }],
  ['status', { status: 'stale' }],
  ['status', { status: 'verified' }],
  ['uptime_s', { uptime_s: -1 }],
  ['uptime_s', { uptime_s: 1.5 }],
  ['uptime_s', { uptime_s: 1e300 }],
  ['models', { models: 'one' }],
  ['models[1]', { models: ['a', null] }],
  ['engine_health.code', { engine_health: { status: 'ok', code: 1000 } }],
  ['gpu.devices[0].name', { gpu: { ...recordOf().gpu, devices: [{ ...device(0), name: 1 }] } }],
  [
    'gpu.devices[0].util_gpu',
    { gpu: { ...recordOf().gpu, devices: [{ ...device(0), util_gpu: 101 }] } },
  ],
  ['host', { host: null }],
  ['tailnet_ip', { tailnet_ip: null }],
  ['agent_url', { agent_url: undefined }],
])('a record with a bad %s is refused by that name', async (field, change) => {
  const { answer, provider } = await send(JSON.stringify({ ...recordOf(), ...change }));
  expect(answer).toMatchObject({ status: 400, code: 'invalid_request', param: field });
  expect(answer).toMatchObject({ message: expect.stringContaining(field) });
  expect(provider).toBeNull();
});

test('a record keeps no field that is not of the protocol, and none that is the registry’s own', async () => {
  const extra = `"verification":{"status":"verified"},"trust_level":"software","attested":true,"totalRequests":9,"id":"prv_0","heartbeat_count":99,"last_heartbeat_ip":"1.2.3.4","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"surprise":[[[[[]]]]]`;
  const { answer, provider } = await send(`{${extra},${JSON.stringify(recordOf()).slice(1)}`);
  expect(answer.kind).toBe('answered');
  expect(provider).toMatchObject({
    verification: { status: 'pending' },
    trust_level: 'none',
    attested: false,
    totalRequests: 0,
    heartbeat_count: 1,
    last_heartbeat_ip: '192.168.1.20',
  });
  expect(provider?.raw).toEqual({ id: provider?.id, ...recordOf() });
  expect(JSON.stringify(provider)).not.toMatch(/polluted|surprise/);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test('the agent of this process is enrolled by itself, once, and comes from 127.0.0.1', async () => {
  const clock = createManualClock();
  const before = startRegistry({ clock });
  const agent = createAgent(clock);
  const own = await before.registry.adoptOwn(agent.publicKey);
  expect(own.id).toBe(agent.id);
  expect(before.registry.reason()).toBe('not_configured');
  expect(await before.registry.ownHeartbeat(own.id, recordOf())).toMatchObject({ status: 200 });
  expect(before.registry.reason()).toBe('no_provider');
  expect(before.registry.get(own.id)?.last_heartbeat_ip).toBe('127.0.0.1');
  expect(before.registry.verifierHost.subject(own.id)?.isOwn).toBe(true);
  const after = startRegistry({ store: before.store, clock });
  expect(await after.registry.adoptOwn(agent.publicKey)).toEqual(own);
  expect(after.store.state().providers).toHaveLength(1);
});

test('the agent of this process is meant to serve an engine that refuses it, and is named with the cause', async () => {
  const { registry, clock } = startRegistry();
  const { id } = await registry.adoptOwn(createAgent(clock).publicKey);
  const degraded = recordOf({ status: 'degraded', models: [], current_model: null });
  const beat = (engine_health: AgentRecord['engine_health']) =>
    registry.ownHeartbeat(id, { ...degraded, engine_health });
  await beat({ status: 'no engine found', code: 0 });
  expect([registry.reason(), registry.causes()]).toEqual(['not_configured', '']);
  await beat({ status: 'unauthorized', code: 401 });
  const named = [registry.reason(), registry.causes()];
  expect(named).toEqual(['no_provider', 'tower has an engine that answers HTTP 401']);
});

test('an unsigned heartbeat counts only for the gateway’s own machine, which cannot be removed', async () => {
  const { registry, join, clock } = startRegistry();
  const agent = await join();
  expect(await registry.ownHeartbeat(agent.id, recordOf())).toBeNull();
  expect(await registry.ownHeartbeat('prv_unknown', recordOf())).toBeNull();
  const own = await registry.adoptOwn(createAgent(clock).publicKey);
  expect(await registry.remove(own.id)).toMatchObject({ status: 409, code: 'own_provider' });
});
