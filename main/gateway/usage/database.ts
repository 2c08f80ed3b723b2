import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import SqliteDatabase, { type Database } from 'better-sqlite3';
import { asideName } from '../../platform/files.ts';
import { migrate } from '../../platform/sqlite-schema.ts';
import { ASKED_SCHEMA } from './asked.ts';

export type OpenedUsage =
  | {
      readonly kind: 'open';
      readonly db: Database;
      /** For people; null if there is none. */
      readonly warning: string | null;
    }
  | { readonly kind: 'unusable'; readonly message: string };

const BUSY_MS = 500;

/** Opens or creates the file. A damaged one is renamed and replaced: starting matters more than the history. */
export function openUsageDatabase(path: string, nowMs: number): OpenedUsage {
  try {
    return { kind: 'open', db: open(path), warning: null };
  } catch (error) {
    if (!DAMAGED.has(codeOf(error))) return unusable(error, path);
    try {
      const aside = setAside(path, nowMs);
      const warning = `The usage database ${path} was damaged (${codeOf(error)}). It was renamed to ${aside}, and a new one was created.`;
      return { kind: 'open', db: open(path), warning };
    } catch (second) {
      return unusable(second, path);
    }
  }
}

const DAMAGED: ReadonlySet<string> = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB']);

/** Never the message, because it may quote what was being written. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

function unusable(error: unknown, path: string): OpenedUsage {
  const why = error instanceof NewerSchema ? 'a newer Inglenook wrote it' : codeOf(error);
  return {
    kind: 'unusable',
    message: `The usage database ${path} cannot be used (${why}): no history is stored.`,
  };
}

class NewerSchema extends Error {}

function open(path: string): Database {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  try {
    chmodSync(path, 0o600);
  } catch {
    // Some file systems have no permissions.
  }
  const db = new SqliteDatabase(path, { timeout: BUSY_MS });
  try {
    if (db.pragma('quick_check(1)', { simple: true }) !== 'ok')
      throw Object.assign(new Error('damaged'), { code: 'SQLITE_CORRUPT' });
    if (migrate(db, SCHEMA).kind === 'newer') throw new NewerSchema();
    db.pragma('journal_mode = WAL');
    // If the process is killed, no commit is lost; only a power failure may lose the last ones.
    db.pragma('synchronous = NORMAL');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function setAside(path: string, nowMs: number): string {
  const aside = asideName(path, nowMs);
  for (const suffix of ['', '-wal', '-shm'])
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  return aside;
}

/** A released migration is never changed; new ones are added at the end. */
const SCHEMA: readonly string[] = [
  `CREATE TABLE usage (
     span TEXT NOT NULL,
     at INTEGER NOT NULL,
     upstream TEXT NOT NULL,
     provider TEXT NOT NULL,
     model TEXT NOT NULL,
     key TEXT NOT NULL,
     calls INTEGER NOT NULL,
     fallbacks INTEGER NOT NULL,
     failures INTEGER NOT NULL,
     inputTokens INTEGER NOT NULL,
     outputTokens INTEGER NOT NULL,
     cachedTokens INTEGER NOT NULL,
     estimatedTokens INTEGER NOT NULL,
     firstTokenMs INTEGER NOT NULL,
     firstTokens INTEGER NOT NULL,
     outputMs INTEGER NOT NULL,
     timedTokens INTEGER NOT NULL,
     spentNano INTEGER NOT NULL,
     savedNano INTEGER NOT NULL,
     energyMj INTEGER NOT NULL,
     energyNano INTEGER NOT NULL,
     PRIMARY KEY (span, at, upstream, provider, model, key)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE requests (
     id INTEGER PRIMARY KEY,
     pot TEXT NOT NULL,
     json TEXT NOT NULL
   ) STRICT;
   CREATE INDEX requests_by_end ON requests (pot, id);`,
  ASKED_SCHEMA,
];
