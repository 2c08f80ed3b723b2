import { parentPort, workerData } from 'node:worker_threads';
import { USAGE_TABLES, usageOperations } from '../gateway/usage/database.ts';
import { type Schema, serveDatabase, type ThreadData } from '../platform/database/thread.ts';
import {
  NOTES_OF_PROVIDERS,
  REGISTRY_TABLES,
  registryOperations,
} from '../registry/store/tables.ts';

/** The database of the program, which the registry and the history share. */
export const SCHEMA = {
  migrations: [REGISTRY_TABLES, USAGE_TABLES, NOTES_OF_PROVIDERS],
  parts: { registry: registryOperations, usage: usageOperations },
} satisfies Schema;

if (parentPort !== null) serveDatabase(parentPort, workerData as ThreadData, SCHEMA);
