import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { isoTime } from './dates.ts';
import { codeOf } from './errors.ts';
import { replaceFile } from './files.ts';

/** The process that uses a data directory. */
export interface Owner {
  readonly pid: number;
  readonly startedAt: string;
  /** Null until it listens. */
  readonly url: string | null;
}

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

/** Also read by the commands, see main/cli/running-app.ts. */
const OWNER_FILE = 'running.json';

/** Makes this process the only one that uses the directory, which is created if there is none. */
export function claimDataDirectory(directory: string, nowMs: number): Claim {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const held = lockFile(join(directory, 'lock'));
  if (held.kind === 'busy') return { kind: 'taken', owner: readOwner(directory) };
  const startedAt = isoTime(nowMs);
  const record = (url: string | null) =>
    writeOwner(directory, { url, pid: process.pid, startedAt });
  record(null);
  const lock: DataLock = {
    listensAt: record,
    release() {
      rmSync(join(directory, OWNER_FILE), { force: true });
      if (held.kind === 'held') held.close();
    },
  };
  const warning =
    held.kind === 'held'
      ? null
      : `The data directory ${directory} could not be locked (${held.why}): start only one Switchyard with it.`;
  return { kind: 'claimed', lock, warning };
}

type HeldFile =
  | { readonly kind: 'held'; close(): void }
  | { readonly kind: 'busy' }
  | { readonly kind: 'failed'; readonly why: string };

/** SQLite's lock, because the system releases it when the process dies, and Node has none of its own. */
function lockFile(path: string): HeldFile {
  try {
    createPrivate(path);
    const db = new SqliteDatabase(path, { timeout: 0 });
    try {
      db.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      db.close();
      throw error;
    }
    return { kind: 'held', close: () => void db.close() };
  } catch (error) {
    const code = codeOf(error) ?? 'unknown error';
    return code.startsWith('SQLITE_BUSY') ? { kind: 'busy' } : { kind: 'failed', why: code };
  }
}

function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

function writeOwner(directory: string, owner: Owner): void {
  replaceFile(join(directory, OWNER_FILE), `${JSON.stringify(owner)}\n`);
}

function readOwner(directory: string): Owner | null {
  try {
    return JSON.parse(readFileSync(join(directory, OWNER_FILE), 'utf8')) as Owner;
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
    `Another Switchyard uses the data directory ${directory}: ${who}. ` +
    'Use that one ("switchyard open"), stop it, or set SWITCHYARD_DATA_DIR to another directory.'
  );
}
