import type { Database } from 'better-sqlite3';

/**
 * The steps from an empty file to the schema of this version, forward only. Step n makes
 * `user_version` n; a step that was released is never changed, a new one is added at the end.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE providers (
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
   ) STRICT;`,
];

/** Whether the schema is of this version now, or of a version that is not known here. */
export type Migrated =
  { readonly kind: 'current' } | { readonly kind: 'newer'; readonly version: number };

/**
 * Takes each step that is missing in a transaction of its own. A step that fails throws and leaves
 * the file at the step before it; a newer schema is left untouched.
 */
export function migrate(db: Database, migrations: readonly string[]): Migrated {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > migrations.length) return { kind: 'newer', version };
  for (const [index, step] of migrations.entries()) {
    if (index < version) continue;
    db.transaction(() => {
      db.exec(step);
      db.pragma(`user_version = ${index + 1}`);
    }).immediate();
  }
  return { kind: 'current' };
}
