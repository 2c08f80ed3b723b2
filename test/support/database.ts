import { join } from 'node:path';
import { MessageChannel, type Worker } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import type { HostEdges } from '../../main/app/app.ts';
import { DATABASE_FILE } from '../../main/app/database.ts';
import { SCHEMA } from '../../main/app/database-thread.ts';
import { type UsageOperations, usageOperations } from '../../main/gateway/usage/database.ts';
import { connectDatabase } from '../../main/platform/database/client.ts';
import { openFile } from '../../main/platform/database/file.ts';
import { type Schema, serveDatabase } from '../../main/platform/database/thread.ts';
import { type RegistryOperations, registryOperations } from '../../main/registry/store/tables.ts';

/** Opens a database as the program does, but in the thread of the test, which spares it a start of one. */
export const openingHere =
  (schema: Schema): HostEdges['openDatabase'] =>
  (path, { clock, log }) => {
    const { port1, port2 } = new MessageChannel();
    serveDatabase(port1, { path, nowMs: clock.now() }, schema);
    const thread = {
      on: (event: string, listener: () => void) =>
        port2.on(event === 'exit' ? 'close' : event, listener),
      postMessage: (message: unknown) => port2.postMessage(message),
    };
    return connectDatabase(thread as unknown as Worker, { log });
  };

export const openDatabaseHere = openingHere(SCHEMA);

interface FileHere {
  readonly db: Database;
  readonly registry: RegistryOperations;
  readonly usage: UsageOperations;
}

/** The file of the program's database, open in the thread of the test. */
export function openFileHere(directory: string): FileHere {
  const opened = openFile(join(directory, DATABASE_FILE), SCHEMA.migrations, Date.now());
  if (opened.kind === 'unusable') throw new Error(opened.message);
  const { db } = opened;
  return { db, registry: registryOperations(db), usage: usageOperations(db) };
}
