import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../platform/clock.ts';
import { connectDatabase } from '../platform/database/client.ts';
import type { ThreadData } from '../platform/database/thread.ts';
import type { Log } from '../platform/log.ts';

/** In the data directory. */
export const DATABASE_FILE = 'inglenook.db';

/** Opens the SQLite file at `path` in a thread of its own, and creates it and its directory if they are missing. */
export function openDatabase(
  path: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
) {
  const data: ThreadData = { path, nowMs: clock.now() };
  // Next to this file, with the same extension: `.ts` from source, `.js` in the bundle.
  const file = `./database-thread${extname(import.meta.filename)}`;
  const thread = new Worker(new URL(file, import.meta.url), { workerData: data });
  return connectDatabase(thread, { log });
}
