import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Log } from '../../../platform/log.ts';
import { createStoreClient } from '../client.ts';
import type { OpenedStore } from '../open-store.ts';
import { createPoolClient, type Pool } from './pool-client.ts';
import type { PoolWorkerData } from './protocol.ts';

type OpenedSharedStore =
  | (Extract<OpenedStore, { readonly kind: 'open' }> & { readonly pool: Pool })
  | Extract<OpenedStore, { readonly kind: 'unusable' }>;

/**
 * Opens a PostgreSQL that several gateways share, in a worker thread. If it does not answer, it is waited for in the
 * background; `unusable` means that a person has to act.
 */
export async function openSharedStore(data: PoolWorkerData, log: Log): Promise<OpenedSharedStore> {
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
