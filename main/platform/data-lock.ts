import { closeSync, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { z } from 'zod';
import { parseJson } from './json.ts';
import { isoTime } from './clock.ts';
import { codeOf } from './errors.ts';
import { readTextFile, replaceFile } from './files.ts';
import { OWN_COMMAND, isAlive, VERSION } from './process.ts';

const ownerSchema = z.object({
  pid: z.int(),
  startedAt: z.string(),
  version: z.string().exactOptional(),
  /** Null until it listens. */
  url: z.url().nullable(),
});

export type Owner = Readonly<z.infer<typeof ownerSchema>>;

/** Held until `release`, or until the process ends, however it ends. */
export interface DataLock {
  /** Records the address for commands and for others that want the directory. */
  listensAt(url: string): void;
  release(): void;
}

export type Claim =
  /** `warning`: the directory could not be locked, so nothing keeps a second process out. */
  | { readonly kind: 'claimed'; readonly lock: DataLock; readonly warning: string | null }
  /** `owner` is null until that process has written its owner file. */
  | { readonly kind: 'taken'; readonly owner: Owner | null };

const OWNER_FILE = 'running.json';
const LOCK_FILE = 'lock';

/** A command that looks whether the lock is held keeps it from others for a moment. */
const LOOK_MS = 500;

/** Makes this process the only one that uses the directory, which is created if there is none. */
export function claimDataDirectory(directory: string, nowMs: number): Claim {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const held = lockFile(join(directory, LOCK_FILE));
  if (held.kind === 'busy') return { kind: 'taken', owner: readOwner(directory) };
  const startedAt = isoTime(nowMs);
  const record = (url: string | null) => {
    const owner: Owner = { url, pid: process.pid, startedAt, version: VERSION };
    replaceFile(join(directory, OWNER_FILE), `${JSON.stringify(owner)}\n`);
  };
  record(null);
  const lock: DataLock = {
    listensAt: record,
    release() {
      try {
        rmSync(join(directory, OWNER_FILE), { force: true });
      } catch {
        // The directory is read-only by now: without the lock the file counts for nothing.
      }
      if (held.kind === 'open') held.db.close();
    },
  };
  const warning =
    held.kind === 'open'
      ? null
      : `The data directory ${directory} could not be locked (${held.why}): start only one Inglenook with it.`;
  return { kind: 'claimed', lock, warning };
}

type OpenedFile =
  | { readonly kind: 'open'; readonly db: SqliteDatabase.Database }
  | { readonly kind: 'busy' }
  | { readonly kind: 'failed'; readonly why: string };

/** SQLite's lock, because the system releases it when the process dies, and Node has none of its own. */
function lockFile(path: string): OpenedFile {
  try {
    // Only if there is none: who closes a file gives up all locks of its process on it (POSIX).
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    return { kind: 'failed', why: codeOf(error) ?? 'unknown error' };
  }
  return openFile(path, { timeout: LOOK_MS }, 'BEGIN EXCLUSIVE');
}

/** `take` is what another process's lock forbids. */
function openFile(path: string, options: SqliteDatabase.Options, take: string): OpenedFile {
  let db: SqliteDatabase.Database | null = null;
  try {
    db = new SqliteDatabase(path, options);
    db.exec(take);
    return { kind: 'open', db };
  } catch (error) {
    db?.close();
    const code = codeOf(error) ?? 'unknown error';
    return code.startsWith('SQLITE_BUSY') ? { kind: 'busy' } : { kind: 'failed', why: code };
  }
}

/** The process that uses the directory now; null if there is none, whatever one that died has left there. */
export function ownerOf(directory: string): Owner | null {
  const owner = readOwner(directory);
  if (owner === null) return null;
  const path = join(directory, LOCK_FILE);
  if (!existsSync(path)) return null;
  const looked = openFile(path, { readonly: true, timeout: 0 }, 'SELECT 1 FROM sqlite_schema');
  if (looked.kind === 'busy') return owner;
  if (looked.kind === 'open') looked.db.close();
  // The directory cannot be locked. The id may be another process's by now.
  return looked.kind === 'failed' && isAlive(owner.pid) ? owner : null;
}

function readOwner(directory: string): Owner | null {
  try {
    const text = readTextFile(join(directory, OWNER_FILE)) ?? '';
    return ownerSchema.safeParse(parseJson(text)).data ?? null;
  } catch {
    return null;
  }
}

/** Tells the user which process has the directory, and what to do. */
export function takenText(directory: string, owner: Owner | null): string {
  const who =
    owner === null
      ? 'a process that is just starting'
      : `process ${owner.pid}, started ${owner.startedAt}, ${owner.url === null ? 'not listening yet' : `at ${owner.url}`}`;
  return (
    `Another Inglenook uses the data directory ${directory}: ${who}. ` +
    `Use that one ("${OWN_COMMAND} open"), stop it, or set INGLENOOK_DATA_DIR to another directory.`
  );
}
