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
import type { z } from 'zod';
import { asideName } from '../../platform/files.ts';
import { migrate } from '../../platform/sqlite-schema.ts';
import { explain, failureOf, type StoreFailure, unusableReason, type Unusable } from './errors.ts';
import type { SettledWrite, Unreadable, WriteRequest } from './open-store.ts';
import {
  documentRowSchema,
  enrollmentRowSchema,
  eventsIn,
  problemOf,
  providerOf,
  providerRow,
  providerRowSchema,
} from './rows.ts';
import {
  EVENTS_KEPT,
  type StoreChange,
  type StoredEnrollment,
  type StoredEvent,
  type StoredProvider,
  type StoredState,
  type WriteResult,
} from './store.ts';

type OpenedDatabase =
  | {
      readonly kind: 'open';
      readonly db: Database;
      readonly loaded: StoreContent;
      /** Human-readable; null if the file was intact. */
      readonly warning: string | null;
    }
  | Unusable;

type Attempt = OpenedDatabase | { readonly kind: 'damaged'; readonly failure: StoreFailure };

/** Another program holds a lock either briefly or for long, so waiting longer gains nothing. */
const BUSY_MS = 500;

/** Opens or creates the file; a damaged one is renamed and a new one created. */
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
    'one was started: add the other machines again, or restore a backup and restart Inglenook.';
  return { ...second, warning };
}

function attempt(path: string, nowMs: number): Attempt {
  let db: Database | null = null;
  try {
    if (!isFileOrNothing(path)) return unusable({ kind: 'no_file', code: 'EISDIR' }, path);
    makePrivate(path);
    if (isEmptied(path)) return { kind: 'damaged', failure: { kind: 'damaged', code: 'emptied' } };
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

/** Checks, migrates and reads the database. Nothing is written before the schema is known to be one of ours. */
function ready(db: Database, path: string, nowMs: number): Attempt {
  // So that a damaged page is found now rather than in a later query.
  db.pragma('cell_size_check = ON');
  if (db.pragma('quick_check(1)', { simple: true }) !== 'ok')
    return { kind: 'damaged', failure: { kind: 'damaged', code: 'quick_check' } };
  // Each commit is flushed to the disk, through its write cache (macOS needs `fullfsync`).
  db.pragma('synchronous = FULL');
  db.pragma('fullfsync = ON');
  db.pragma('foreign_keys = ON');
  const migrated = migrate(db, MIGRATIONS);
  if (migrated.kind === 'newer') return newerSchema(path, migrated.version);
  db.pragma('journal_mode = WAL');
  // Writes even if nothing has expired, so that a read-only file is detected now.
  db.transaction(() => {
    db.prepare('DELETE FROM enrollments WHERE expires_at <= ?').run(nowMs);
  }).immediate();
  return { kind: 'open', db, loaded: loadState(db), warning: null };
}

/**
 * SQLite would take an empty file for a new database and delete the log beside it. Our databases have their schema
 * before they have a log.
 */
function isEmptied(path: string): boolean {
  return sizeOf(path) === 0 && sizeOf(`${path}-wal`) > 0;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function newerSchema(path: string, version: number): OpenedDatabase {
  return {
    kind: 'unusable',
    reason: 'newer_schema',
    message:
      `The registry's database ${path} was written by a newer Inglenook (schema ${version}, this one knows ` +
      `${MIGRATIONS.length}) and was left untouched: install the newer version, or move the file away to start afresh.`,
  };
}

function unusable(failure: StoreFailure, path: string): OpenedDatabase {
  return { kind: 'unusable', reason: unusableReason(failure), message: explain(failure, path) };
}

/** Opening a pipe would block forever, and a device cannot hold a database. */
function isFileOrNothing(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
}

/** SQLite creates its side files with the permissions of the database, so those are set first. */
function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  if ((statSync(path).mode & 0o077) === 0) return;
  try {
    chmodSync(path, 0o600);
  } catch {
    // Another user's file, or a file system without permissions; the database works anyway.
  }
}

/** Renames the file with its side files, under names that SQLite still associates. */
function setAside(path: string, nowMs: number): string {
  const aside = asideName(path, nowMs);
  // The database first: a crash in between leaves a log without its database, which SQLite discards.
  for (const suffix of ['', '-wal', '-shm'])
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  return aside;
}

function close(db: Database | null): void {
  try {
    db?.close();
  } catch {
    // A database that could not be opened may fail to close too; its handle is freed with the thread.
  }
}

/**
 * The steps from an empty file to this version's schema, forward only. Step n sets `user_version` n. A released step is
 * never changed; new ones are added at the end.
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

export type Writer = ReturnType<typeof createWriter>;

/** `path` is the file of `db`. */
export function createWriter(db: Database, path: string) {
  const apply = createApply(db);
  const applyAll = db.transaction((requests: readonly WriteRequest[]) => {
    for (const { changes } of requests) for (const change of changes) apply(change);
  });
  const readEvents = db.prepare(
    'SELECT provider_id, at, kind, text FROM events WHERE provider_id = ? ORDER BY id DESC LIMIT ?',
  );

  function commit(requests: readonly WriteRequest[]): readonly SettledWrite[] {
    try {
      applyAll.immediate(requests);
      return settled(requests, { kind: 'written' });
    } catch (error) {
      const failure = failureOf(error);
      // A refused change concerns only its sender; the others are written without it.
      if (failure.kind === 'refused' && requests.length > 1)
        return requests.flatMap((request) => commit([request]));
      return settled(requests, { kind: 'unwritten', message: explain(failure, path) });
    }
  }

  return {
    /** Writes all requests in one transaction; they are on disk once this returns `written`. */
    commit,
    /** Newest first. */
    events(providerId: string, limit: number): readonly StoredEvent[] {
      return eventsIn(readEvents.all(providerId, Math.max(0, Math.min(limit, EVENTS_KEPT))));
    },
  };
}

function settled(requests: readonly WriteRequest[], result: WriteResult): SettledWrite[] {
  return requests.map(({ id }) => ({ id, result }));
}

/** Applies one change within the open transaction. */
function createApply(db: Database): (change: StoreChange) => void {
  // Not REPLACE, which first deletes the row, and its events with it.
  const putProvider = db.prepare(
    `INSERT INTO providers VALUES (:id, :public_key, :token_salt, :enrolled_at, :sequence,
       :last_heartbeat_at, :last_heartbeat_ip, :heartbeat_count, :record, :verification)
     ON CONFLICT (id) DO UPDATE SET public_key = excluded.public_key,
       token_salt = excluded.token_salt, enrolled_at = excluded.enrolled_at,
       sequence = excluded.sequence, last_heartbeat_at = excluded.last_heartbeat_at,
       last_heartbeat_ip = excluded.last_heartbeat_ip, heartbeat_count = excluded.heartbeat_count,
       record = excluded.record, verification = excluded.verification`,
  );
  const dropProvider = db.prepare('DELETE FROM providers WHERE id = ?');
  const putEnrollment = db.prepare(
    `INSERT INTO enrollments VALUES (?, ?)
     ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at`,
  );
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
  const putDocument = db.prepare(
    'INSERT INTO documents VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET json = excluded.json',
  );

  const dropDocument = db.prepare('DELETE FROM documents WHERE name = ?');

  return (change) => {
    switch (change.kind) {
      case 'provider':
        putProvider.run(providerRow(change.provider));
        return;
      case 'provider_removed':
        dropProvider.run(change.id);
        return;
      case 'enrollment':
        putEnrollment.run(change.enrollment.digest, change.enrollment.expiresAt);
        return;
      case 'enrollment_removed':
        dropEnrollment.run(change.digest);
        return;
      case 'event':
        putEvent.run(change.event);
        dropOldEvents.run({ id: change.event.providerId });
        return;
      case 'document':
        putDocument.run(change.name, change.json);
        return;
      case 'document_removed':
        dropDocument.run(change.name);
    }
  };
}

export interface StoreContent {
  readonly state: StoredState;
  readonly unreadable: readonly Unreadable[];
}

/** Reads everything but the events; throws if the file itself is damaged. */
function loadState(db: Database): StoreContent {
  const unreadable = new Map<string, Unreadable>();
  const note = (found: Omit<Unreadable, 'rows'>) => {
    const key = `${found.table} ${found.part}`;
    const seen = unreadable.get(key);
    unreadable.set(
      key,
      seen === undefined ? { ...found, rows: 1 } : { ...seen, rows: seen.rows + 1 },
    );
  };
  function* rows<T extends z.ZodType>(table: Unreadable['table'], name: string, schema: T) {
    for (const row of db.prepare<[], Record<string, unknown>>(`SELECT * FROM ${table}`).iterate()) {
      const result = schema.safeParse(row);
      if (result.success) yield result.data;
      else note({ table, part: 'row', first: label(row[name]), problem: problemOf(result.error) });
    }
  }

  const providers: StoredProvider[] = [];
  for (const row of rows('providers', 'id', providerRowSchema)) {
    const { provider, damaged } = providerOf(row);
    providers.push(provider);
    for (const part of damaged) note({ table: 'providers', first: label(row.id), ...part });
  }
  const enrollments: StoredEnrollment[] = [];
  // The digest of a token is not logged; the number of rows is enough.
  for (const { digest, expires_at: expiresAt } of rows('enrollments', '', enrollmentRowSchema))
    enrollments.push({ digest, expiresAt });
  const documents = Object.fromEntries(
    [...rows('documents', 'name', documentRowSchema)].map(({ name, json }) => [name, json]),
  );
  return { state: { providers, enrollments, documents }, unreadable: [...unreadable.values()] };
}

/** A name that is safe to log, whatever a damaged file contains. */
function label(value: unknown): string {
  return typeof value === 'string' && /^[\w.:-]{1,64}$/.test(value) ? value : '?';
}
