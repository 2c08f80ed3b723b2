import { expect, test } from 'vitest';
import { CHECK_NAMES } from '#shared/checks.ts';
import type { StoredVerification } from '../../main/registry/store/store.ts';
import { createAgent, startRegistry } from './world.ts';

const FAILED: StoredVerification = {
  state: 'failed',
  checks: CHECK_NAMES.map((name) => ({ name, passed: false, error: 'no answer' })),
  lastCheckAt: Date.UTC(2026, 0, 1),
  lastInferenceAt: null,
  failedRuns: 1,
  address: null,
};

function gone(): never {
  throw new Error('the machine is gone');
}

async function withMachine() {
  const world = startRegistry();
  const agent = await world.join();
  await world.beat(agent);
  const host = world.registry.verifierHost;
  const subject = () => host.subject(agent.id) ?? gone();
  const verification = () => world.registry.get(agent.id)?.verification ?? gone();
  return { ...world, agent, id: agent.id, host, subject, verification };
}

test('a new machine is pending with every check missing, and verifying while it is verified', async () => {
  const { id, host, subject, verification } = await withMachine();
  expect(verification()).toMatchObject({ status: 'pending', failure_reason: '', last_check: null });
  expect(verification().checks).toEqual(
    CHECK_NAMES.map((name) => ({ name, passed: false, error: 'check missing' })),
  );
  host.verifying(id, true);
  expect(verification().status).toBe('verifying');
  await host.verificationDone(id, subject().materialChanges, FAILED);
  expect(verification().status).toBe('failed');
});

test('a verification result is on disk before it is acknowledged, and in the history', async () => {
  const { id, host, subject, store } = await withMachine();
  const done = await host.verificationDone(id, subject().materialChanges, FAILED);
  expect(done).toEqual({ kind: 'recorded' });
  expect(store.state().providers[0]?.verification).toEqual(FAILED);
  const [event] = await store.events(id);
  expect(event).toMatchObject({
    kind: 'verification',
    text: expect.stringMatching(/^failed: health \/health status ok: no answer; /),
  });
  const before = (await store.events(id)).length;
  await host.verificationDone(id, subject().materialChanges, { ...FAILED, failedRuns: 2 });
  expect(await store.events(id)).toHaveLength(before);
});

test('a verification result that cannot be written takes effect all the same, and is reported as unwritten', async () => {
  const { id, host, subject, store, verification } = await withMachine();
  store.fail('the disk is full');
  const done = await host.verificationDone(id, subject().materialChanges, FAILED);
  expect(done).toEqual({ kind: 'unwritten', message: 'the disk is full' });
  expect(verification().status).toBe('failed');
});

test('a verification result is outdated when the machine has changed meanwhile', async () => {
  const { agent, id, host, subject, beat, verification } = await withMachine();
  const { materialChanges } = subject();
  host.verifying(id, true);
  await beat(agent, { models: ['another'], current_model: 'another' });
  const verified = { ...FAILED, state: 'verified' } as const;
  expect(await host.verificationDone(id, materialChanges, verified)).toEqual({ kind: 'outdated' });
  expect(verification().status).toBe('pending');
});

test('a verification result is outdated when the machine is gone', async () => {
  const { id, host, subject, registry, removed } = await withMachine();
  const { materialChanges } = subject();
  await registry.remove(id);
  expect(removed).toEqual([id]);
  expect(await host.verificationDone(id, materialChanges, FAILED)).toEqual({ kind: 'outdated' });
  expect(host.subject(id)).toBeNull();
});

test('the owner may have any machine verified that was heard', async () => {
  const { id, registry, news, clock } = await withMachine();
  expect(registry.requestVerification(id)).toEqual({
    kind: 'answered',
    status: 202,
    body: { id, verification: { status: 'pending' } },
  });
  expect(news.at(-1)).toEqual([id, ['requested']]);
  const unknown = registry.requestVerification(createAgent(clock).id);
  expect(unknown).toMatchObject({ status: 404, code: 'provider_not_found' });
});

test('a removal that cannot be written has not happened', async () => {
  const { id, registry, store, removed } = await withMachine();
  store.fail('the disk is full');
  expect(await registry.remove(id)).toMatchObject({ status: 503, code: 'registry_unwritten' });
  expect(registry.get(id)).not.toBeNull();
  expect(removed).toEqual([]);
});

test('a heartbeat that comes while its machine is being removed does not bring it back', async () => {
  const { agent, id, registry, store, beat } = await withMachine();
  const release = store.hold();
  const removal = registry.remove(id);
  const answer = beat(agent);
  release();
  await removal;
  expect(await answer).toMatchObject({ code: 'unknown_provider' });
  expect(store.state().providers).toEqual([]);
});
