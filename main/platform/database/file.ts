import { closeSync, existsSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import SqliteDatabase, { type Database } from 'better-sqlite3';
import { asideName, closeToOthers } from '../files.ts';
import { type DatabaseFailure, explain, failureOf } from './failure.ts';

export type OpenedFile =
  | {
      readonly kind: 'open';
      readonly db: Database;
      /** Human-readable: the file was damaged and renamed; null if it was intact. */
      readonly warning: string | null;
    }
  /** The message is human-readable. */
  | { readonly kind: 'unusable'; readonly message: string };

type Attempt =
  | { readonly kind: 'open'; readonly db: Database }
  | { readonly kind: 'failed'; readonly failure: DatabaseFailure };

/** Another program holds a lock either briefly or for long, so waiting longer gains nothing. */
const BUSY_MS = 500;

/**
 * Opens or creates the file; a damaged one is renamed and a new one created. `migrations` are the steps from an empty
 * file to this version's schema, forward only; step n sets `user_version` n.
 */
export function openFile(path: string, migrations: readonly string[], nowMs: number): OpenedFile {
  const unusable = (failure: DatabaseFailure) =>
    ({ kind: 'unusable', message: explain(failure, path) }) as const;
  const first = attempt(path, migrations);
  if (first.kind === 'open') return { ...first, warning: null };
  if (first.failure.kind !== 'damaged') return unusable(first.failure);
  let aside: string;
  try {
    aside = setAside(path, nowMs);
  } catch (error) {
    return unusable(failureOf(error));
  }
  const second = attempt(path, migrations);
  if (second.kind === 'failed') return unusable(second.failure);
  const warning =
    `The database ${path} was damaged (${first.failure.code}). It was kept as ${aside} and a fresh one was ` +
    'started, without machines and history: add the other machines again, or restore a backup and restart Inglenook.';
  return { ...second, warning };
}

function attempt(path: string, migrations: readonly string[]): Attempt {
  let db: Database | null = null;
  try {
    const size = sizeOf(path);
    if (size === null) return failed('no_file', 'EISDIR');
    makePrivate(path);
    // SQLite would take an empty file for a new database and delete the log beside it. Our databases have their schema
    // before they have a log.
    if (size === 0 && sizeOf(`${path}-wal`) !== 0) return failed('damaged', 'emptied');
    db = new SqliteDatabase(path, { timeout: BUSY_MS });
    const prepared = prepare(db, migrations);
    if (prepared.kind === 'failed') db.close();
    return prepared;
  } catch (error) {
    close(db);
    return { kind: 'failed', failure: failureOf(error) };
  }
}

function failed(kind: DatabaseFailure['kind'], code: string): Attempt {
  return { kind: 'failed', failure: { kind, code } };
}

/** Checks and migrates the database. Nothing is written before the schema is known to be one of ours. */
function prepare(db: Database, migrations: readonly string[]): Attempt {
  // So that a damaged page is found now rather than in a later query.
  db.pragma('cell_size_check = ON');
  if (db.pragma('quick_check(1)', { simple: true }) !== 'ok')
    return failed('damaged', 'quick_check');
  // Each commit is flushed to the disk, through its write cache (macOS needs `fullfsync`).
  db.pragma('synchronous = FULL');
  db.pragma('fullfsync = ON');
  db.pragma('foreign_keys = ON');
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > migrations.length) return failed('newer', `schema ${version}`);
  for (const [index, step] of migrations.entries()) {
    if (index < version) continue;
    db.transaction(() => {
      db.exec(step);
      db.pragma(`user_version = ${index + 1}`);
    }).immediate();
  }
  db.pragma('journal_mode = WAL');
  // Written even if it is current, so that a read-only or locked file is detected now.
  db.pragma(`user_version = ${migrations.length}`);
  return { kind: 'open', db };
}

/** In bytes, 0 if there is none; null of what is no file: opening a pipe blocks forever, and a device holds no database. */
function sizeOf(path: string): number | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === false ? null : (found?.size ?? 0);
}

/** SQLite creates its side files with the permissions of the database, so those are set first. */
function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  closeToOthers(path);
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
