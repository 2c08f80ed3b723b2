import { join } from 'node:path';
import type { RequestRow } from '#shared/live.ts';
import type { AskedAt } from '../../main/gateway/usage/asked.ts';
import { openUsageDatabase } from '../../main/gateway/usage/database.ts';
import { createUsageQueries, storedRow } from '../../main/gateway/usage/queries.ts';
import type { Increment } from '../../main/gateway/usage/tally.ts';
import { temporaryDirectory } from './gateway.ts';

interface Kept {
  readonly rows?: readonly RequestRow[];
  /** Texts that are no requests, among them. */
  readonly others?: readonly string[];
  readonly increments?: readonly Increment[];
  readonly asked?: readonly AskedAt[];
}

/** A data directory in which an earlier run has kept this. */
export function directoryWith({ rows = [], others = [], ...counted }: Kept): string {
  const directory = temporaryDirectory();
  const nowMs = Date.now();
  const opened = openUsageDatabase(join(directory, 'usage.db'), nowMs);
  if (opened.kind === 'unusable') throw new Error(opened.message);
  const { db } = opened;
  const kept = { increments: [], asked: [], ...counted, rows: rows.map(storedRow) };
  createUsageQueries(db).write({ nowMs, ...kept });
  const add = db.prepare("INSERT INTO requests (pot, json) VALUES ('failed', ?)");
  for (const text of others) add.run(text);
  db.close();
  return directory;
}
