import type { RequestRow } from '#shared/live.ts';
import { requestedModelQueries } from '../../main/gateway/usage/database.ts';
import {
  type Increment,
  type RequestedModel,
  storedRow,
} from '../../main/gateway/usage/queries.ts';
import type { StoredProvider } from '../../main/registry/store/store.ts';
import { openFileHere } from './database.ts';
import { temporaryDirectory } from './gateway.ts';

interface StoredFiles {
  readonly providers?: readonly StoredProvider[];
  readonly rows?: readonly RequestRow[];
  /** Texts that are no requests, among them. */
  readonly others?: readonly string[];
  readonly increments?: readonly Increment[];
  readonly requested?: readonly RequestedModel[];
}

/** A data directory in which an earlier run has kept this. */
export function directoryWith(kept: StoredFiles, directory = temporaryDirectory()): string {
  const { providers = [], rows = [], increments = [] } = kept;
  const { db, registry, usage } = openFileHere(directory);
  registry.writes.apply(
    providers.map((provider) => ({ kind: 'provider', part: 'enrolled', provider }) as const),
  );
  usage.writes.add({ nowMs: Date.now(), increments, rows: rows.map(storedRow) });
  const requested = requestedModelQueries(db);
  for (const each of kept.requested ?? []) requested.add(each);
  const add = db.prepare("INSERT INTO requests (pot, json) VALUES ('failed', ?)");
  for (const text of kept.others ?? []) add.run(text);
  db.close();
  return directory;
}
