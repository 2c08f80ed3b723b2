import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import SqliteDatabase, { type Database } from 'better-sqlite3';
import { isoTime } from '../../platform/dates.ts';
import { explain, type Failure, failureOf, unusableReason, type UnusableReason } from './errors.ts';
import { type Loaded, loadState } from './queries.ts';

/** A database that is open and holds what was kept, or why there is none. */
type OpenedDatabase =
  | {
      readonly kind: 'open';
      readonly db: Database;
      readonly loaded: Loaded;
      /** For people; null when the file was as it should be. */
      readonly warning: string | null;
    }
  | { readonly kind: 'unusable'; readonly reason: UnusableReason; readonly message: string };

type Attempt = OpenedDatabase | { readonly kind: 'damaged'; readonly failure: Failure };

/** A lock is held by another program for moments only, or for long: there is nothing in between to wait for. */
const BUSY_MS = 500;

/** Opens the file, or makes it; one that is damaged is set aside and a fresh one made. */
export function openDatabase(path: string, nowMs: number): OpenedDatabase {
  const first = attempt(path, nowMs);
  if (first.kind !== 'damaged') return first;
  let aside: string;
  try {
    aside = setAside(path, nowMs);
  } catch (error) {
    return unusable(failureOf(error), path);
  }
  const second = attempt(path, nowMs);
  if (second.kind === 'damaged') return unusable(second.failure, path);
  if (second.kind === 'unusable') return second;
  const warning =
    `The registry's database ${path} was damaged (${first.failure.code}). It was kept as ${aside} and a fresh ` +
    'one was started: other machines have to be added again, or put a backup in its place and restart Switchyard.';
  return { ...second, warning };
}

function attempt(path: string, nowMs: number): Attempt {
  let db: Database | null = null;
  try {
    if (!isFileOrNothing(path)) return unusable({ kind: 'no_file', code: 'EISDIR' }, path);
    makePrivate(path);
    db = new SqliteDatabase(path, { timeout: BUSY_MS });
    const opened = ready(db, path, nowMs);
    if (opened.kind !== 'open') db.close();
    return opened;
  } catch (error) {
    const failure = failureOf(error);
    close(db);
    return failure.kind === 'damaged' ? { kind: 'damaged', failure } : unusable(failure, path);
  }
}

/** Checks, migrates and reads. Nothing is written before the schema is known to be one of ours. */
function ready(db: Database, path: string, nowMs: number): Attempt {
  // A damaged page is found by the check rather than by a query some day.
  db.pragma('cell_size_check = ON');
  if (db.pragma('quick_check(1)', { simple: true }) !== 'ok')
    return { kind: 'damaged', failure: { kind: 'damaged', code: 'quick_check' } };
  // Each commit is on the disk itself, through its cache too (macOS needs to be told).
  db.pragma('synchronous = FULL');
  db.pragma('fullfsync = ON');
  db.pragma('foreign_keys = ON');
  const migrated = migrate(db, MIGRATIONS);
  if (migrated.kind === 'newer') return newerSchema(path, migrated.version);
  db.pragma('journal_mode = WAL');
  // Written even where nothing has expired, so that a file that takes no writes is found out now.
  db.transaction(() => {
    db.prepare('DELETE FROM enrollments WHERE expires_at <= ?').run(nowMs);
  }).immediate();
  return { kind: 'open', db, loaded: loadState(db), warning: null };
}

function newerSchema(path: string, version: number): OpenedDatabase {
  return {
    kind: 'unusable',
    reason: 'newer_schema',
    message:
      `The registry's database ${path} was written by a newer Switchyard (schema ${version}, this one knows ` +
      `${MIGRATIONS.length}) and was left untouched: install the newer version, or move the file away to start afresh.`,
  };
}

function unusable(failure: Failure, path: string): OpenedDatabase {
  return { kind: 'unusable', reason: unusableReason(failure), message: explain(failure, path) };
}

/** Opening a pipe would wait for ever, and a device is no place for a database. */
function isFileOrNothing(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
}

/** SQLite makes its files with the rights of the database, which therefore come first. */
function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  if ((statSync(path).mode & 0o077) === 0) return;
  try {
    chmodSync(path, 0o600);
  } catch {
    // The file of another user, or a file system without rights: it works all the same.
  }
}

/** Moves the file away with what belongs to it, under names that SQLite finds together again. */
function setAside(path: string, nowMs: number): string {
  const aside = `${path}.bad-${isoTime(nowMs).replaceAll(':', '-')}`;
  // The file first: a stop in between leaves a log without its file, which SQLite drops.
  for (const suffix of ['', '-wal', '-shm'])
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  return aside;
}

function close(db: Database | null): void {
  try {
    db?.close();
  } catch {
    // What could not be opened may not close either; its handle goes with the thread.
  }
}

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
type Migrated = { readonly kind: 'current' } | { readonly kind: 'newer'; readonly version: number };

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
