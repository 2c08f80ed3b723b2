import { onTestFinished } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { type Log, silentLog } from '../../main/platform/log.ts';
import { createRegistry, type Registry } from '../../main/registry/registry.ts';
import type { Pool } from '../../main/pool/client.ts';
import { openPool } from '../../main/pool/pool.ts';
import { createRegistrySharing } from '../../main/pool/registry-sharing.ts';
import {
  NO_TOTALS,
  POOL_TIMES,
  type PoolChanges,
  type PoolTimes,
  type PoolUpdate,
} from '../../main/pool/protocol.ts';
import type { Store, StoredState } from '../../main/registry/store/store.ts';
import type { VerifierNews, VerifierPort } from '../../main/registry/verifier-port.ts';

/** For tests that take the database away: nobody has to wait for it as long as a gateway does. */
export const IMPATIENT: PoolTimes = { answerMs: 2000, startMs: 2500, leaseMs: 4000, marginMs: 800 };

let runs = 0;

/** Is told what ends a gateway's side. */
export type AtEnd = (end: () => Promise<void> | void) => void;

/** A gateway's side of a shared database; it is closed with the test. */
export interface SharedStore {
  readonly store: Store;
  readonly pool: Pool;
  readonly state: StoredState;
  /** What was told, in order. */
  readonly changes: PoolChanges[];
  readonly lines: readonly string[];
}

/** Opens the database as a gateway does; `id` is the gateway's over all its runs. */
export async function openingShared(
  url: string,
  id = 'gw_a',
  {
    secretDigest = 'digest',
    times = POOL_TIMES,
    atEnd = onTestFinished,
  }: PoolOptions & { readonly secretDigest?: string | undefined } = {},
) {
  const lines: string[] = [];
  const log: Log = (_level, event, fields) =>
    void lines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  runs += 1;
  const gateway = { id, run: `${id}:${runs}`, host: `${id}:47900`, version: '0.1.0' };
  const shown = url.replace(/\/\/.*@/, '//…@');
  const data = { url, shown, gateway, secretDigest, times };
  const opened = await openPool(data, log);
  if (opened.kind === 'open') atEnd(() => opened.store.close());
  return { opened, lines };
}

export async function openShared(
  url: string,
  id?: string,
  { times, atEnd }: Pick<PoolOptions, 'times' | 'atEnd'> = {},
): Promise<SharedStore> {
  const { opened, lines } = await openingShared(url, id, { times, atEnd });
  if (opened.kind !== 'open') throw new Error(opened.message);
  const changes: PoolChanges[] = [];
  opened.pool.onChanges((change) => changes.push(change));
  return { ...opened, changes, lines };
}

/** What a gateway tells the others in an exchange: nothing but `part`. */
export const updateOf = (part: Partial<PoolUpdate>): PoolUpdate => ({
  circuits: [],
  since: 0,
  inFlight: {},
  claims: [],
  released: [],
  prefixes: [],
  ...part,
});

/** Opens one database as several gateways do. */
export const openAsEach = (url: string, ...ids: readonly string[]): Promise<SharedStore[]> =>
  Promise.all(ids.map((id) => openShared(url, id)));

/** A registry of a pool, and what its verifier was told. */
export interface PooledRegistry extends SharedStore {
  readonly registry: Registry;
  readonly news: readonly (readonly [id: string, news: readonly VerifierNews[]])[];
  readonly verifiedElsewhere: readonly string[];
  /** Ids that were announced as changed, in order. */
  readonly changed: readonly string[];
}

interface PoolOptions {
  readonly verifier?: VerifierPort;
  readonly times?: PoolTimes | undefined;
  readonly addresses?: readonly string[];
  /** With the test, unless several share it. */
  readonly atEnd?: AtEnd | undefined;
}

/** Starts a gateway's registry on the database; all of a pool have the same secret. */
export async function startPooledRegistry(
  url: string,
  id: string,
  { verifier, times, addresses = [], atEnd = onTestFinished }: PoolOptions = {},
): Promise<PooledRegistry> {
  const shared = await openShared(url, id, { times, atEnd });
  const { store, state, pool } = shared;
  const news: [string, readonly VerifierNews[]][] = [];
  const verifiedElsewhere: string[] = [];
  const changed: string[] = [];
  const registry = createRegistry({
    ...createRegistrySharing({ pool, store, addresses: () => addresses, load: () => IDLE }),
    state,
    clock: systemClock,
    log: silentLog,
    gatewaySecret: 'the gateways keep this to themselves',
    heartbeatMs: () => 15_000,
    verifier: verifier ?? {
      providerChanged: (machine, what) => void news.push([machine, what]),
      verifiedElsewhere: (machine) => void verifiedElsewhere.push(machine),
      removed() {},
    },
    traffic: () => NO_TRAFFIC,
    proved() {},
    changed: (machine) => void changed.push(machine),
  });
  registry.start();
  atEnd(() => registry.stop());
  return { ...shared, registry, news, verifiedElsewhere, changed };
}

const IDLE = { ...NO_TOTALS, in_flight: 0 };

const NO_TRAFFIC = {
  ewmaTtft: null,
  ewmaLatency: null,
  concurrentRequests: 0,
  totalRequests: 0,
  successCount: 0,
};
