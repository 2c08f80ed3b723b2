import type { Database } from 'better-sqlite3';
import type { DatabasePart } from '../../platform/database/client.ts';
import type { Log } from '../../platform/log.ts';
import { eventsIn, PROVIDER_COLUMNS, providerOf, providerRow, type Row } from './rows.ts';
import {
  EVENTS_KEPT,
  type OpenedStore,
  refusingStore,
  type StoreChange,
  type StoredEnrollment,
  type StoredEvent,
  type StoredState,
} from './store.ts';

/* What the registry does in the database thread. */

export const REGISTRY_TABLES = `
   CREATE TABLE providers (
     id TEXT PRIMARY KEY NOT NULL,
     public_key TEXT NOT NULL,
     token_salt TEXT NOT NULL,
     enrolled_at INTEGER NOT NULL,
     sequence INTEGER NOT NULL,
     last_heartbeat_at INTEGER,
     last_heartbeat_ip TEXT NOT NULL,
     heartbeat_count INTEGER NOT NULL,
     record TEXT,
     verification TEXT NOT NULL
   ) STRICT;
   CREATE TABLE enrollments (
     digest TEXT PRIMARY KEY NOT NULL,
     expires_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE events (
     id INTEGER PRIMARY KEY,
     provider_id TEXT NOT NULL REFERENCES providers (id) ON DELETE CASCADE,
     at INTEGER NOT NULL,
     kind TEXT NOT NULL,
     text TEXT NOT NULL
   ) STRICT;
   CREATE INDEX events_of_provider ON events (provider_id, id);
   CREATE TABLE documents (
     name TEXT PRIMARY KEY NOT NULL,
     json TEXT NOT NULL
   ) STRICT;`;

/** Notes were documents. The only other one said when the registry was last alive, as the events do now. */
export const NOTES_OF_PROVIDERS = `
   ALTER TABLE providers ADD COLUMN note TEXT;
   UPDATE providers SET note = (SELECT json FROM documents WHERE name = 'note:' || providers.id);
   DROP TABLE documents;`;

export type RegistryOperations = ReturnType<typeof registryOperations>;

export function registryOperations(db: Database) {
  const apply = createApply(db);
  const providers = db.prepare<[], Row>('SELECT * FROM providers');
  const enrollments = db.prepare<[], StoredEnrollment>(
    'SELECT digest, expires_at AS expiresAt FROM enrollments',
  );
  const lastEventAt = db.prepare<[], number>('SELECT coalesce(max(at), 0) FROM events').pluck();
  const events = db.prepare(
    'SELECT provider_id AS providerId, at, kind, text FROM events WHERE provider_id = ? ORDER BY id DESC',
  );
  return {
    reads: {
      /** Everything but the events, and how many providers are left out because they cannot be read. */
      load(): { readonly state: StoredState; readonly unread: number } {
        const rows = providers.all();
        const read = rows.flatMap((row) => providerOf(row) ?? []);
        const state = {
          providers: read,
          enrollments: enrollments.all(),
          lastEventAt: lastEventAt.get() ?? 0,
        };
        return { state, unread: rows.length - read.length };
      },
      /** Newest first. */
      events: (providerId: string): readonly StoredEvent[] => eventsIn(events.all(providerId)),
    },
    writes: {
      apply(changes: readonly StoreChange[]): void {
        for (const change of changes) apply(change);
      },
    },
  };
}

/** Applies one change within the open transaction. */
function createApply(db: Database): (change: StoreChange) => void {
  const each = (sql: (name: string) => string) => PROVIDER_COLUMNS.map(sql).join(', ');
  // Not REPLACE, which first deletes the row, and its events with it.
  const putProvider = db.prepare(
    `INSERT INTO providers VALUES (${each((name) => `:${name}`)})
     ON CONFLICT (id) DO UPDATE SET ${each((name) => `${name} = excluded.${name}`)}`,
  );
  const dropProvider = db.prepare('DELETE FROM providers WHERE id = ?');
  const putEnrollment = db.prepare('INSERT INTO enrollments VALUES (?, ?)');
  const dropExpired = db.prepare('DELETE FROM enrollments WHERE expires_at <= ?');
  const dropEnrollment = db.prepare('DELETE FROM enrollments WHERE digest = ?');
  // A late event of a removed provider is dropped.
  const putEvent = db.prepare(
    `INSERT INTO events (provider_id, at, kind, text)
     SELECT :providerId, :at, :kind, :text WHERE EXISTS (SELECT 1 FROM providers WHERE id = :providerId)`,
  );
  const dropOldEvents = db.prepare(
    `DELETE FROM events WHERE provider_id = :id AND id <=
       (SELECT id FROM events WHERE provider_id = :id ORDER BY id DESC LIMIT 1 OFFSET ${EVENTS_KEPT})`,
  );

  return (change) => {
    switch (change.kind) {
      case 'provider':
        putProvider.run(providerRow(change.provider));
        return;
      case 'provider_removed':
        dropProvider.run(change.id);
        return;
      case 'enrollment':
        dropExpired.run(change.nowMs);
        putEnrollment.run(change.enrollment.digest, change.enrollment.expiresAt);
        return;
      case 'enrollment_used':
        dropEnrollment.run(change.digest);
        return;
      case 'event':
        putEvent.run(change.event);
        dropOldEvents.run({ id: change.event.providerId });
    }
  };
}

/** The store in this gateway's own database. */
export async function openSqliteStore(
  part: DatabasePart<RegistryOperations>,
  log: Log,
): Promise<OpenedStore> {
  const loaded = await part.read('load');
  if (loaded === null) return refusingStore(part.problem() ?? UNREAD);
  const { state, unread } = loaded;
  if (unread > 0) log('warn', 'store_rows_left_out', { rows: unread });
  return {
    state,
    store: {
      write: (changes) => part.write('apply', changes),
      events: async (providerId) => (await part.read('events', providerId)) ?? [],
      close: () => Promise.resolve(),
    },
    notice: null,
  };
}

const UNREAD = 'The list of machines cannot be read: restart Inglenook.';
