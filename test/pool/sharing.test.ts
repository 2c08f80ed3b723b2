import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import type { AgentMessage } from '../../main/registry/responses.ts';
import type { StoredVerification } from '../../main/registry/store/store.ts';
import { createAgent, HEARTBEAT, recordOf, type TestAgent } from '../registry/world.ts';
import { type AtEnd, type PooledRegistry, startPooledRegistry } from '../support/pool.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();

/** Two gateways on one new database. */
async function twoGateways(options: Parameters<typeof startPooledRegistry>[2] = {}) {
  const url = await postgres.database();
  const [a, b] = await Promise.all([
    startPooledRegistry(url, 'gw_a', options),
    startPooledRegistry(url, 'gw_b', options),
  ]);
  return { url, a, b };
}

async function tokenOf({ registry }: PooledRegistry): Promise<string> {
  const made = await registry.newEnrollment('http://gateway:47900');
  if (made.kind === 'refused') throw new Error(made.message);
  return made.body.token;
}

/** A machine that has joined at one gateway and is known at the other. */
async function joined(at: PooledRegistry, other: PooledRegistry): Promise<TestAgent> {
  const agent = createAgent(systemClock);
  expect(await at.registry.handleEnroll(agent.enroll(await tokenOf(at)))).toMatchObject({
    kind: 'answered',
  });
  expect(await beat(at, agent)).toMatchObject({ kind: 'answered' });
  await expect.poll(() => other.registry.get(agent.id)).not.toBeNull();
  return agent;
}

const beat = ({ registry }: PooledRegistry, agent: TestAgent, record: object = {}) =>
  registry.handleHeartbeat(agent.heartbeat(recordOf(record)));

const VERIFIED: StoredVerification = {
  state: 'verified',
  checks: [],
  lastCheckAt: 1,
  lastInferenceAt: 1,
  failedRuns: 0,
  address: 'http://192.168.1.20:3001',
};

async function verify({ registry }: PooledRegistry, id: string, address = VERIFIED.address) {
  const { verifierHost: host } = registry;
  const materialChanges = host.subject(id)?.materialChanges ?? -1;
  const turn = await host.turn?.(id);
  if (turn === undefined || turn === null) return null;
  const recorded = await host.verificationDone(id, materialChanges, { ...VERIFIED, address }, turn);
  turn.release();
  return { recorded, fence: turn.fields['fence'] ?? 0 };
}

const targetsAt = ({ registry }: PooledRegistry, ...ids: readonly string[]) =>
  registry.targets().flatMap(({ id, address }) => (ids.includes(id) ? [{ id, address }] : []));

describe.runIf(POSTGRES_SKIPPED === null)('two gateways on one database', () => {
  let url: string;
  let a: PooledRegistry;
  let b: PooledRegistry;
  const ends: Parameters<AtEnd>[0][] = [];

  // Most tests share them: each has machines of its own.
  beforeAll(async () => {
    ({ url, a, b } = await twoGateways({ atEnd: (end) => ends.push(end) }));
  });
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });

  test('a machine that joins at one gateway is known at the other, which takes its heartbeats', async () => {
    const agent = await joined(a, b);
    expect(await beat(b, agent, { current_model: 'llama-8b' })).toMatchObject({ kind: 'answered' });
    await expect
      .poll(() => a.registry.get(agent.id))
      .toMatchObject({ current_model: 'llama-8b', heartbeat_count: 2, status: 'serving' });
    expect(await beat(a, agent)).toMatchObject({ kind: 'answered' });
  });

  test('a join command, and the answer to an enrolment, name all addresses of the pool, the gateway’s own first', async () => {
    const database = await postgres.database();
    const addresses = ['http://attic:47900', 'http://cellar:47900', 'http://lab:47900'];
    const gateway = await startPooledRegistry(database, 'gw_a', { addresses });
    const lineFor = async (own: string) => {
      const made = await gateway.registry.newEnrollment(own);
      if (made.kind === 'refused') throw new Error(made.message);
      return made.body;
    };
    const { join, token } = await lineFor('http://cellar:47900');
    const ordered = 'http://cellar:47900,http://attic:47900,http://lab:47900';
    expect(join).toBe(`inglenook join ${ordered} ${token}`);
    // Where this one is by another name, only those that are announced are the machine's to know.
    expect((await lineFor('http://127.0.0.1:47900')).join).not.toContain('127.0.0.1');
    const enrolled = await gateway.registry.handleEnroll(createAgent(systemClock).enroll(token));
    expect(enrolled).toMatchObject({ body: { pool: { registries: addresses } } });
  });

  test('the first heartbeat of a machine may come at once to another gateway than its enrolment', async () => {
    for (let round = 0; round < 5; round += 1) {
      const agent = createAgent(systemClock);
      await a.registry.handleEnroll(agent.enroll(await tokenOf(a)));
      expect(await beat(b, agent)).toMatchObject({ kind: 'answered' });
    }
  });

  test('a join token is taken at any gateway, once, even by two machines at the same moment', async () => {
    const { a: one, b: other } = await twoGateways();
    const token = await tokenOf(one);
    const answers = await Promise.all(
      [one, other, one, other].map(({ registry }) =>
        registry.handleEnroll(createAgent(systemClock).enroll(token)),
      ),
    );
    const kinds = answers.map((each) => (each.kind === 'answered' ? 'joined' : each.code));
    expect(kinds.toSorted()).toEqual(['invalid_token', 'invalid_token', 'invalid_token', 'joined']);
    const late = await other.registry.handleEnroll(createAgent(systemClock).enroll(token));
    expect(late).toMatchObject({ code: 'invalid_token' });
    for (const { registry } of [one, other])
      await expect.poll(() => registry.counts().count).toBe(0);
  });

  test('a heartbeat that one gateway has accepted is refused by the other, even at the same moment', async () => {
    const agent = await joined(a, b);
    for (let round = 0; round < 20; round += 1) {
      const message: AgentMessage = agent.heartbeat(recordOf());
      const answers = await Promise.all(
        [a, b].map(({ registry }) => registry.handleHeartbeat(message)),
      );
      const codes = answers.map((each) => (each.kind === 'answered' ? 'taken' : each.code));
      expect(codes.toSorted()).toEqual(['sequence_reused', 'taken']);
      for (const { registry } of [a, b]) {
        expect(await registry.handleHeartbeat(message)).toMatchObject({
          code: 'sequence_reused',
          headers: { 'x-gateway-sequence': String(agent.sequence) },
        });
      }
    }
  });

  test('a heartbeat that is signed for the pool is taken by any of its gateways, and by no other', async () => {
    const agent = await joined(a, b);
    const answer = await beat(b, agent);
    const { pool } = answer.kind === 'answered' ? answer.body : { pool: undefined };
    expect(pool).toEqual({ id: expect.stringMatching(/^pool_[0-9a-f]{32}$/), registries: [] });
    const body = Buffer.from(JSON.stringify(recordOf()));
    const meant = agent.message(HEARTBEAT, body, { pool: pool?.id ?? '' });
    expect(await b.registry.handleHeartbeat(meant)).toMatchObject({ kind: 'answered' });
    expect(await a.registry.handleHeartbeat(meant)).toMatchObject({ code: 'sequence_reused' });
    const other = agent.message(HEARTBEAT, body, { pool: 'pool_of_others' });
    expect(await a.registry.handleHeartbeat(other)).toMatchObject({ code: 'other_pool' });
  });

  test('a machine that one gateway has verified is routed to by the other, which does not verify it again', async () => {
    const { id } = await joined(a, b);
    expect(await verify(a, id)).toMatchObject({ recorded: { kind: 'recorded' } });
    const target = { id, address: VERIFIED.address };
    await expect.poll(() => targetsAt(b, id)).toEqual([target]);
    expect(targetsAt(a, id)).toEqual([target]);
    expect(b.verifiedElsewhere).toContain(id);
    await a.pool.refresh();
    expect(a.verifiedElsewhere).not.toContain(id);
  });

  test('a machine that is removed during its verification, and joins again, is verified only after that run', async () => {
    const agent = await joined(a, b);
    const turn = await a.registry.verifierHost.turn?.(agent.id);
    expect(await b.registry.remove(agent.id)).toMatchObject({ kind: 'answered' });
    await b.registry.handleEnroll(agent.enroll(await tokenOf(b)));
    expect(await beat(b, agent)).toMatchObject({ kind: 'answered' });
    expect(await b.registry.verifierHost.turn?.(agent.id)).toBeNull();
    turn?.release();
    await expect.poll(() => verify(b, agent.id)).toMatchObject({ recorded: { kind: 'recorded' } });
  });

  test('a machine that is removed elsewhere as soon as it has joined here is gone here too', async () => {
    const agent = createAgent(systemClock);
    await b.registry.handleEnroll(agent.enroll(await tokenOf(b)));
    expect(await beat(b, agent)).toMatchObject({ kind: 'answered' });
    expect(await a.registry.remove(agent.id)).toMatchObject({ kind: 'answered' });
    await expect.poll(() => b.registry.get(agent.id)).toBeNull();
  });

  test('a verification result is dropped where the machine has changed at the other gateway meanwhile', async () => {
    const agent = await joined(a, b);
    const { verifierHost: host } = a.registry;
    const materialChanges = host.subject(agent.id)?.materialChanges ?? -1;
    const turn = await host.turn?.(agent.id);
    await beat(b, agent, { models: ['another'], current_model: 'another' });
    const recorded = await host.verificationDone(
      agent.id,
      materialChanges,
      VERIFIED,
      turn ?? undefined,
    );
    expect(recorded).toEqual({ kind: 'outdated' });
    for (const each of [a, b]) {
      await expect
        .poll(() => each.registry.get(agent.id))
        .toMatchObject({ current_model: 'another', verification: { status: 'pending' } });
    }
    await expect
      .poll(() => a.news.some(([id, news]) => id === agent.id && news.includes('material')))
      .toBe(true);
  });

  test('changes that come late to one gateway do not hide the verification that follows at the other', async () => {
    const agent = await joined(a, b);
    const [first, second, last] = ['one', 'two', 'three'].map((model) =>
      agent.heartbeat(recordOf({ models: [model], current_model: model })),
    );
    if (first === undefined || second === undefined || last === undefined) throw new Error();
    expect(await b.registry.handleHeartbeat(last)).toMatchObject({ kind: 'answered' });
    // Before it has read that: each counts as a change there, and neither is written.
    for (const late of [first, second])
      expect(await a.registry.handleHeartbeat(late)).toMatchObject({ kind: 'refused' });
    expect(await verify(b, agent.id)).toMatchObject({ recorded: { kind: 'recorded' } });
    for (const each of [a, b]) {
      await expect
        .poll(() => each.registry.get(agent.id))
        .toMatchObject({ current_model: 'three', verification: { status: 'verified' } });
    }
  });

  test('a machine that is removed at one gateway is gone at the other, and its heartbeats are refused', async () => {
    const agent = await joined(a, b);
    expect(await a.registry.remove(agent.id)).toMatchObject({ kind: 'answered' });
    expect(await beat(b, agent)).toMatchObject({ code: 'unknown_provider' });
    await expect.poll(() => b.registry.get(agent.id)).toBeNull();
  });

  test('the owner’s note of a machine is the same at both gateways, until the note or the machine is removed', async () => {
    const agent = await joined(a, b);
    const note = { name: 'Tower in the attic', note: 'Ask Kim before a restart.' };
    const notesOf = ({ registry }: PooledRegistry) => registry.notes().notes[agent.id];
    const before = b.changed.length;
    expect(await a.registry.setNote(agent.id, note)).toMatchObject({ kind: 'answered' });
    await expect.poll(() => notesOf(b)).toEqual(note);
    expect(b.changed.slice(before)).toContain(agent.id);
    const later = await startPooledRegistry(url, 'gw_c');
    expect(notesOf(later)).toEqual(note);
    await b.registry.setNote(agent.id, { name: '', note: '' });
    await expect.poll(() => [notesOf(a), notesOf(later)]).toEqual([undefined, undefined]);
    await b.registry.setNote(agent.id, note);
    await expect.poll(() => notesOf(a)).toEqual(note);
    await b.registry.remove(agent.id);
    await expect.poll(() => [notesOf(a), notesOf(b)]).toEqual([undefined, undefined]);
    expect((await startPooledRegistry(url, 'gw_d')).registry.notes()).toEqual({ notes: {} });
  });

  test('a machine that joins again has one token at every gateway, and no earlier verdict', async () => {
    const agent = await joined(a, b);
    await verify(a, agent.id);
    await expect.poll(() => targetsAt(b, agent.id)).toHaveLength(1);
    const answer = await b.registry.handleEnroll(agent.enroll(await tokenOf(a)));
    const token = answer.kind === 'answered' ? answer.body.gateway_token : '';
    const tokenAt = ({ registry }: PooledRegistry) =>
      registry.verifierHost.subject(agent.id)?.gatewayToken;
    await expect.poll(() => tokenAt(a)).toBe(token);
    expect(tokenAt(b)).toBe(token);
    expect([a, b].flatMap((each) => targetsAt(each, agent.id))).toEqual([]);
  });

  test('the machine that a gateway runs on is not a machine of any other gateway', async () => {
    const { a: one, b: other } = await twoGateways();
    const own = createAgent(systemClock);
    await one.registry.adoptOwn(own.publicKey);
    await one.registry.ownHeartbeat(own.id, recordOf());
    const agent = await joined(one, other);
    expect(other.registry.ids(10)).toEqual([agent.id]);
    await expect.poll(() => one.registry.ids(10).toSorted()).toEqual([own.id, agent.id].toSorted());
    await expect.poll(() => verify(one, own.id)).toMatchObject({ recorded: { kind: 'recorded' } });
    await one.registry.ownHeartbeat(own.id, recordOf());
    expect(targetsAt(one, own.id, agent.id)).toEqual([{ id: own.id, address: VERIFIED.address }]);
  });

  test('the history of a machine holds what both gateways have written', async () => {
    const agent = await joined(a, b);
    await verify(b, agent.id);
    await beat(b, agent, { status: 'paused' });
    const history = await a.registry.history(agent.id, {});
    const texts = history.kind === 'answered' ? history.body.data.map(({ text }) => text) : [];
    expect(texts).toEqual(['paused', 'verified', 'serving', 'from 192.168.1.20']);
  });
});
