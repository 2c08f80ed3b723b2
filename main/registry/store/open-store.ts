import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStoreClient } from './client.ts';
import type { UnusableReason } from './errors.ts';
import type { StoreWorkerData, Unreadable } from './protocol.ts';
import type { Store, StoredState } from './store.ts';

/** Messages and warnings are human-readable. */
export type OpenedStore =
  | {
      readonly kind: 'open';
      readonly store: Store;
      readonly state: StoredState;
      /** The file was damaged and renamed, or machines are missing from it; null if it was intact. */
      readonly warning: string | null;
    }
  | { readonly kind: 'unusable'; readonly reason: UnusableReason; readonly message: string };

/**
 * Opens the SQLite file at `path` in a worker thread, and creates it and its directory if they are missing. If it is
 * `unusable`, `createMemoryStore` keeps the gateway routing.
 */
export async function openStore(
  path: string,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Promise<OpenedStore> {
  const data: StoreWorkerData = { path, nowMs: clock.now() };
  const { opening, store } = createStoreClient(new Worker(workerUrl(), { workerData: data }), log);
  const opened = await opening;
  if (opened.kind === 'unusable') {
    log('error', 'store_unusable', { reason: opened.reason, error: opened.message });
    await store.close();
    return opened;
  }
  const { state, unreadable, warning } = opened;
  if (warning !== null) log('error', 'store_damaged', { error: warning });
  for (const found of unreadable) logUnreadable(found, log);
  return { kind: 'open', store, state, warning };
}

/** Next to this file, with the same extension: `.ts` from source, `.js` in the bundle. */
function workerUrl(): URL {
  return new URL(`./store-worker${extname(import.meta.filename)}`, import.meta.url);
}

function logUnreadable(found: Unreadable, log: Log): void {
  log('warn', found.part === 'row' ? 'store_row_left_out' : 'store_part_left_out', { ...found });
}
