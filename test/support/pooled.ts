import { onTestFinished } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { createRegistry } from '../../main/registry/registry.ts';
import type { DatabaseTimes } from '../../main/registry/store/postgres/connection.ts';
import { openPostgresStore } from '../../main/registry/store/postgres/postgres-store.ts';
import { UNVERIFIED } from '../../main/registry/store/store.ts';
import type { VerifierNews, VerifierPort } from '../../main/registry/verifier-port.ts';
import { createKeptLog } from './log.ts';
import { NO_TRAFFIC, recordOf, type TestAgent } from '../registry/world.ts';

/** For tests that take the database away: nobody has to wait for it as long as a gateway does. */
export const IMPATIENT: DatabaseTimes = { answerMs: 1000, startMs: 1500 };

/** A busy machine is no database that is away. */
const PATIENT: DatabaseTimes = { answerMs: 30_000, startMs: 60_000 };

interface OpeningOptions {
  readonly secretDigest?: string;
  readonly times?: DatabaseTimes;
}

/** Opens the database as a gateway does; `home` is the gateway's over all its runs. It is closed with the test. */
export async function openingShared(
  url: string,
  home = 'gw_a',
  { secretDigest = 'digest', times = PATIENT }: OpeningOptions = {},
) {
  const { log, lines } = createKeptLog();
  const shown = url.replace(/\/\/.*@/, '//…@');
  const options = { url, shown, home, secretDigest, times };
  const opened = await openPostgresStore(options, { clock: systemClock, log });
  onTestFinished(() => opened.store.close());
  return { opened, lines };
}

/** A gateway's side of a shared database. */
export async function openShared(url: string, home?: string, options?: OpeningOptions) {
  const { opened } = await openingShared(url, home, options);
  if (opened.store.shared === undefined) throw new Error('not shared');
  return { store: opened.store, shared: opened.store.shared, state: opened.state };
}

export type PooledRegistry = Awaited<ReturnType<typeof startPooledRegistry>>;

interface PooledOptions extends OpeningOptions {
  readonly addresses?: readonly string[];
  readonly verifier?: VerifierPort;
}

/** Starts a gateway's registry on the database, and tells what its verifier was told; all of a pool have the same secret. */
export async function startPooledRegistry(
  url: string,
  home: string,
  { addresses = [], verifier, ...opening }: PooledOptions = {},
) {
  const opened = await openShared(url, home, opening);
  const news: [string, readonly VerifierNews[]][] = [];
  const registry = createRegistry({
    store: opened.store,
    state: opened.state,
    addresses: () => addresses,
    clock: systemClock,
    log: silentLog,
    gatewaySecret: 'the gateways keep this to themselves',
    heartbeatMs: () => 15_000,
    verifier: verifier ?? {
      providerChanged: (machine, what) => void news.push([machine, what]),
      removed() {},
    },
    traffic: () => NO_TRAFFIC,
    proved() {},
    changed() {},
  });
  registry.start();
  onTestFinished(() => registry.stop());
  return { ...opened, registry, news };
}

export async function startTwo(
  url: string,
  options: PooledOptions = {},
): Promise<readonly [PooledRegistry, PooledRegistry]> {
  return Promise.all([
    startPooledRegistry(url, 'gw_a', options),
    startPooledRegistry(url, 'gw_b', options),
  ]);
}

export async function tokenOf({ registry }: PooledRegistry): Promise<string> {
  const made = await registry.newEnrollment('http://gateway:47900');
  if (made.kind === 'refused') throw new Error(made.message);
  return made.body.token;
}

export const beat = ({ registry }: PooledRegistry, agent: TestAgent, record: object = {}) =>
  registry.handleHeartbeat(agent.heartbeat(recordOf(record)));

export const VERIFIED = {
  ...UNVERIFIED,
  state: 'verified',
  lastCheckAt: 1,
  lastInferenceAt: 1,
  address: 'http://192.168.1.20:3001',
} as const;

/** Lets a machine pass its verification; null if another gateway has the lease. */
export async function verify({ registry }: PooledRegistry, id: string) {
  const { verifierHost: host } = registry;
  const release = await host.lease(id);
  if (release === null) return null;
  const { materialChanges = -1 } = host.subject(id) ?? {};
  const recorded = await host.verificationDone(id, materialChanges, VERIFIED);
  release?.();
  return recorded.kind;
}
