import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { createVerifier, type Verifier } from '../../main/registry/verification/verifier.ts';
import type { VerifierPort } from '../../main/registry/verifier-port.ts';
import {
  edgesFor,
  type FakeProvider,
  json,
  recordAt,
  startFakeProvider,
  UNTESTED,
} from '../registry/fake-provider.ts';
import { openShared, startPooledRegistry } from '../support/pool.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';
import { keep, put } from '../support/store.ts';

const postgres = usePostgres();

/** A machine that the pool knows and nobody has verified yet. */
function known({ id, publicKey, port }: FakeProvider) {
  const record = recordAt(port);
  const host = { ...record.host, hostname: '', tailnet_hostname: null };
  return put({
    id,
    publicKey,
    sequence: 1,
    record: { ...record, host },
    lastHeartbeatAt: Date.now(),
    lastHeartbeatIp: '127.0.0.1',
    verification: UNTESTED,
  });
}

/** A gateway with the real verifier, which finds its machines at the ports of `providers`. */
async function startGateway(url: string, id: string, providers: readonly FakeProvider[]) {
  const port: VerifierPort = {
    providerChanged: (machine, news) => verifier.providerChanged(machine, news),
    verifiedElsewhere: (machine) => verifier.verifiedElsewhere(machine),
    removed: (machine) => verifier.removed(machine),
  };
  const gateway = await startPooledRegistry(url, id, { verifier: port });
  const verifier: Verifier = createVerifier({
    ...edgesFor({ port: 0 }, systemClock),
    rules: { ports: providers.map((each) => each.port), hostPort: 1, ownPorts: [] },
    host: gateway.registry.verifierHost,
    log: silentLog,
    random: Math.random,
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
    const providers = await Promise.all(Array.from({ length: 12 }, () => startFakeProvider()));
    const counts = providers.map(countInferences);
    const { store } = await openShared(url, 'gw_first');
    await keep(store, ...providers.map(known));
    const ids = ['gw_a', 'gw_b', 'gw_c'];
    const gateways = await Promise.all(ids.map((id) => startGateway(url, id, providers)));
    for (const { verifier } of gateways) verifier.start();
    for (const { registry } of gateways)
      await expect.poll(() => registry.targets().length).toBe(providers.length);
    expect(counts.map(({ most }) => most)).toEqual(providers.map(() => 1));
    expect(counts.map(({ asked }) => asked)).toEqual(providers.map(() => 1));
  });

  test('a verification that is requested at all gateways of a pool runs at one at a time', async () => {
    const url = await postgres.database();
    const provider = await startFakeProvider();
    const count = countInferences(provider);
    const { store } = await openShared(url, 'gw_first');
    await keep(store, known(provider));
    const ids = ['gw_a', 'gw_b', 'gw_c'];
    const gateways = await Promise.all(ids.map((id) => startGateway(url, id, [provider])));
    for (const { verifier } of gateways) verifier.start();
    for (let round = 0; round < 5; round += 1) {
      const before = count.asked;
      // A run in progress answers a request, so one is made again and again.
      const asked = () => {
        for (const { registry } of gateways) registry.requestVerification(provider.id);
        return count.asked;
      };
      await expect.poll(asked).toBeGreaterThan(before);
    }
    expect(count.most).toBe(1);
  });
});
