import { join } from 'node:path';
import type { RequestRow } from '#shared/live.ts';
import { openUsageDatabase } from '../../main/gateway/usage/database.ts';
import { createUsageQueries, storedRow } from '../../main/gateway/usage/queries.ts';
import { temporaryDirectory } from './gateway.ts';

/** A data directory in which an earlier run has kept these requests, and texts that are none. */
export function directoryWith(rows: readonly RequestRow[], others: readonly string[] = []): string {
  const directory = temporaryDirectory();
  const opened = openUsageDatabase(join(directory, 'usage.db'), 0);
  if (opened.kind === 'unusable') throw new Error(opened.message);
  const { db } = opened;
  createUsageQueries(db).write({ nowMs: 0, increments: [], asked: [], rows: rows.map(storedRow) });
  const add = db.prepare('INSERT INTO requests (done, json) VALUES (0, ?)');
  for (const text of others) add.run(text);
  db.close();
  return directory;
}
