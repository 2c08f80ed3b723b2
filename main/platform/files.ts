import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { dirname } from 'node:path';
import { codeOf, messageOf, nameOf } from './errors.ts';
import { type Clock, isoTime } from './clock.ts';
import type { Log } from './log.ts';

interface FileText {
  readonly path: string;
  readonly text: string | Buffer;
}

const OWNER_ONLY = 0o600;

const draftOf = (path: string) => `${path}.new`;

/**
 * Replaces files of one directory, readable for their owner only: each is whole after a crash or a power cut, old
 * or new. All drafts are on disk before the first takes its place, so a full disk changes none; where one cannot take its
 * place, such as a file that is mounted into a container, those before it are put back. Throws the file system's
 * error, with the path.
 */
export function replaceFiles(files: readonly FileText[]): void {
  for (const file of files) writeDraft(file);
  const before = files.slice(0, -1).map(({ path }) => ({ path, text: readTextFile(path) }));
  for (const [at, { path }] of files.entries()) {
    try {
      renameSync(draftOf(path), path);
    } catch (error) {
      for (const file of before.slice(0, at)) putBack(file);
      throw withPath(error, path);
    }
    syncDirectory(dirname(path));
  }
}

function putBack({ path, text }: { readonly path: string; readonly text: string | null }): void {
  if (text === null) rmSync(path);
  else replaceFile(path, text);
}

export function replaceFile(path: string, text: string): void {
  replaceFiles([{ path, text }]);
}

function writeDraft({ path, text }: FileText): void {
  const draft = draftOf(path);
  try {
    // A draft left behind by a crash would keep its file mode.
    rmSync(draft, { force: true });
    writeFileSync(draft, text, { flag: 'wx', mode: OWNER_ONLY, flush: true });
  } catch (error) {
    throw withPath(error, path);
  }
}

/** A rename is on disk only once its directory has been flushed. */
function syncDirectory(directory: string): void {
  try {
    const opened = openSync(directory, 'r');
    try {
      fsyncSync(opened);
    } finally {
      closeSync(opened);
    }
  } catch {
    // Windows opens no directories, and some file systems cannot flush them.
  }
}

/** `replaceFile` off the main thread. */
export async function replaceFileAsync(path: string, text: string): Promise<void> {
  const draft = draftOf(path);
  try {
    await rm(draft, { force: true });
    await writeFile(draft, text, { flag: 'wx', mode: OWNER_ONLY, flush: true });
    await rename(draft, path);
  } catch (error) {
    throw withPath(error, path);
  }
  try {
    await using directory = await open(dirname(path), 'r');
    await directory.sync();
  } catch {
    // As in `syncDirectory`.
  }
}

/** Null if there is no file. Throws the file system's error, with the path. */
export function readTextFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw withPath(error, path);
  }
}

/** Node names the draft, or no path at all where an open file cannot be read or written (EISDIR, ENOSPC). */
function withPath(error: unknown, path: string): unknown {
  return error instanceof Error ? Object.assign(error, { path }) : error;
}

/** The name under which a file that cannot be used is kept for examination. */
export function asideName(path: string, nowMs: number): string {
  return `${path}.bad-${isoTime(nowMs).replaceAll(':', '-')}`;
}

/** Renames a file that cannot be used, so that it can be examined; returns its new path. */
export function setAside(path: string, nowMs: number): string {
  const aside = asideName(path, nowMs);
  try {
    renameSync(path, aside);
  } catch {
    // It stays and is overwritten, for example on a disk that does not allow renames.
  }
  return aside;
}

/** Makes a file unreadable to other users; returns whether they could read it until now. */
export function closeToOthers(path: string): boolean {
  // Windows has no such bits; the data directory is in the user's profile.
  if (process.platform === 'win32') return false;
  try {
    const wasOpen = (statSync(path).mode & 0o077) !== 0;
    if (wasOpen) chmodSync(path, OWNER_ONLY);
    return wasOpen;
  } catch {
    // Another user's file, or a file system without permissions.
    return false;
  }
}

/** The user's home directory; an empty `HOME`, as in some containers and cron jobs, counts as unset. */
export const homeDirectory = (): string => homedir() || userInfo().homedir;

/** A JSON document that outlives restarts. */
export type StateFile = ReturnType<typeof createStateFile>;

const WRITE_DELAY_MS = 500;

/** Writes the result of `save` to the file at `path` atomically. A failing disk is logged and otherwise ignored. */
export function createStateFile(
  path: string,
  save: () => unknown,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
) {
  let cancelTimer: (() => void) | null = null;
  let writing = Promise.resolve();

  async function write(): Promise<void> {
    try {
      await replaceFileAsync(path, JSON.stringify(save()));
    } catch (error) {
      log('warn', 'state_unwritten', { error: messageOf(error) });
    }
  }

  function writeNext(): Promise<void> {
    cancelTimer?.();
    cancelTimer = null;
    writing = writing.then(write);
    return writing;
  }

  return {
    /** Null if there is no document, undefined if it cannot be read. */
    load(): unknown {
      try {
        return JSON.parse(readTextFile(path) ?? 'null') as unknown;
      } catch (error) {
        log('warn', 'state_set_aside', {
          aside: setAside(path, clock.now()),
          error: nameOf(error),
        });
        return undefined;
      }
    },
    /** Schedules a write of the document, which is on disk within a second. */
    changed: (): void => void (cancelTimer ??= clock.after(WRITE_DELAY_MS, () => void writeNext())),
    /** Writes a scheduled change now. */
    flush: () => (cancelTimer === null ? writing : writeNext()),
  };
}
