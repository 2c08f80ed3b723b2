import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLog } from '../../main/platform/log.ts';
import { createRegistry } from '../../main/registry/registry.ts';
import { openStore } from '../../main/registry/store/open-store.ts';
import { createManualClock } from '../support/clock.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { createAgent, NO_TRAFFIC, recordOf } from './world.ts';

/** A registry on a real database file, with time that stands still. */
async function open(path: string) {
  const clock = createManualClock();
  const opened = await openStore(path, { log: silentLog, clock });
  if (opened.kind === 'unusable') throw new Error(opened.message);
  const { store, state } = opened;
  const registry = createRegistry({
    store,
    state,
    clock,
    log: silentLog,
    gatewaySecret: 'the gateway keeps this to itself',
    heartbeatMs: () => 15_000,
    verifier: { providerChanged: () => {}, verifiedElsewhere: () => {}, removed: () => {} },
    traffic: () => NO_TRAFFIC,
    changed: () => {},
  });
  registry.start();
  return { registry, store, clock };
}

test('everything acknowledged is there after the file was closed and opened again', async () => {
  const path = join(temporaryDirectory(), 'registry.db');
  const first = await open(path);
  const agent = createAgent(first.clock);
  const made = await first.registry.newEnrollment('u');
  if (made.kind === 'refused') throw new Error(made.message);
  const { token } = made.body;
  expect(await first.registry.handleEnroll(agent.enroll(token))).toMatchObject({ status: 200 });
  const message = agent.heartbeat(recordOf());
  expect(await first.registry.handleHeartbeat(message)).toMatchObject({ status: 200 });
  const { materialChanges } = first.registry.verifierHost.subject(agent.id) ?? {
    materialChanges: -1,
  };
  const verified = {
    state: 'verified',
    checks: [],
    lastCheckAt: first.clock.now(),
    lastInferenceAt: null,
    failedRuns: 0,
    address: 'http://192.168.1.20:3001',
  } as const;
  await first.registry.verifierHost.verificationDone(agent.id, materialChanges, verified);
  const [before, targets] = [first.registry.get(agent.id), first.registry.targets()];
  await first.registry.stop();
  await first.store.close();

  const second = await open(path);
  expect(second.registry.get(agent.id)).toEqual(before);
  expect(second.registry.targets()).toEqual(targets);
  expect(await second.registry.handleHeartbeat(message)).toMatchObject({ code: 'sequence_reused' });
  expect(await second.registry.handleEnroll(agent.enroll(token))).toMatchObject({
    code: 'invalid_token',
  });
  expect(await second.registry.history(agent.id, {})).toMatchObject({
    body: { data: [{ kind: 'verification' }, { text: 'serving' }, { kind: 'enrolled' }] },
  });
  await second.registry.remove(agent.id);
  await second.registry.stop();
  await second.store.close();

  const third = await open(path);
  expect(third.registry.get(agent.id)).toBeNull();
  await third.store.close();
});
