import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { SILENT_MS } from '#shared/pool.ts';
import type { PoolReport } from '#shared/status.ts';
import type { Log } from '../platform/log.ts';
import type { Unusable } from '../registry/store/errors.ts';
import { createStoreClient, type OpenedStore } from '../registry/store/open-store.ts';
import { createPoolClient, type Pool } from './client.ts';
import { createGatewaySharing } from './gateway-sharing.ts';
import type { PoolStatus, PoolWorkerData } from './protocol.ts';
import { createRegistrySharing } from './registry-sharing.ts';

/** Opened by `openPool`; `pool` is the connection to the other gateways. */
export type OpenedPool =
  (Extract<OpenedStore, { readonly kind: 'open' }> & { readonly pool: Pool }) | Unusable;

/**
 * Opens a PostgreSQL that several gateways share, in a worker thread. If it does not answer, it is waited for in the
 * background; `unusable` means that a person has to act.
 */
export async function openPool(data: PoolWorkerData, log: Log): Promise<OpenedPool> {
  const worker = new Worker(workerUrl(), { workerData: data });
  const pool = createPoolClient(worker, data.gateway, log);
  const { opening, store } = createStoreClient(worker, log);
  const opened = await opening;
  if (opened.kind === 'unusable') {
    log('error', 'store_unusable', { reason: opened.reason, error: opened.message });
    await store.close();
    return opened;
  }
  return { kind: 'open', store, state: opened.state, warning: opened.warning, pool };
}

/** Next to this file, with the same extension: `.ts` from source, `.js` in the bundle. */
function workerUrl(): URL {
  return new URL(`./pool-worker${extname(import.meta.filename)}`, import.meta.url);
}

export type AttachDeps = Omit<Parameters<typeof createRegistrySharing>[0], 'pool' | 'store'> &
  Parameters<typeof createGatewaySharing>[1] & {
    readonly changed: () => void;
  };

export type AttachedPool = ReturnType<typeof attachPool>;

/** What a gateway of a pool has in place of the parts of one that is alone. */
export function attachPool(
  { pool, store }: Extract<OpenedPool, { readonly kind: 'open' }>,
  deps: AttachDeps,
) {
  pool.onStatus(createStatusNote(deps.changed));
  return {
    ...createRegistrySharing({ ...deps, pool, store }),
    others: createGatewaySharing(pool, deps),
    report: (): PoolReport => ({ gateway: pool.gateway.id, ...pool.status() }),
  };
}

/** Tells when the state of the pool changes, not at each check of its database. */
function createStatusNote(changed: () => void): (status: PoolStatus) => void {
  let last: string | null = null;
  return ({ database, gateways }) => {
    // `seen_ms` itself changes at every check.
    const now = JSON.stringify([
      database,
      gateways.map((each) => ({ ...each, seen_ms: each.seen_ms > SILENT_MS })),
    ]);
    if (now !== last) changed();
    last = now;
  };
}
