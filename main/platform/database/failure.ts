import { codeOf } from '../errors.ts';

/** SQLite's primary result codes (https://sqlite.org/rescode.html) and errno names. */
const KINDS: Readonly<Record<string, FailureKind>> = {
  SQLITE_BUSY: 'locked',
  SQLITE_LOCKED: 'locked',
  SQLITE_READONLY: 'read_only',
  SQLITE_PERM: 'read_only',
  SQLITE_FULL: 'full',
  SQLITE_CORRUPT: 'damaged',
  SQLITE_NOTADB: 'damaged',
  SQLITE_CONSTRAINT: 'refused',
  SQLITE_MISMATCH: 'refused',
  SQLITE_TOOBIG: 'refused',
  EACCES: 'read_only',
  EPERM: 'read_only',
  EROFS: 'read_only',
  EISDIR: 'no_file',
  ENOTDIR: 'no_folder',
  EEXIST: 'no_folder',
  ENOSPC: 'full',
  EDQUOT: 'full',
};

/** Contains none of the written data, so it may be shown and logged. */
export interface DatabaseFailure {
  readonly kind: FailureKind;
  readonly code: string;
}

/** Only the code of an error is read: a message may quote the data that was written. */
export function failureOf(error: unknown): DatabaseFailure {
  const code = codeOf(error);
  if (code === null || !/^[A-Z0-9_]{1,40}$/.test(code))
    return { kind: error instanceof Error ? 'refused' : 'failed', code: 'unknown' };
  const primary = /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code;
  return { kind: KINDS[primary] ?? 'failed', code };
}

/**
 * What to do about each class of a database or file error. `damaged`: the file is renamed at the next start. `refused`:
 * the change itself cannot be stored, but the database is intact.
 */
const FIXES = {
  locked: 'is in use by another program, such as a second Inglenook: stop that program',
  read_only:
    'is not writable: give the user that runs Inglenook write access to the file and its folder',
  full: 'cannot grow: the disk is full, free some space on it',
  no_file: 'is a folder or a device: move it away, and a file of that name is created instead',
  no_folder: 'cannot be created: its folder is a file, move that away',
  newer:
    'was written by a newer Inglenook and was left untouched: install the newer version, or move the file away to start afresh',
  damaged:
    'is damaged: restart Inglenook, which sets the file aside and starts a fresh one, or restore a backup',
  refused: 'refused this change',
  failed: 'cannot be read or written: check the disk and the folder',
} as const;

type FailureKind = keyof typeof FIXES;

/** What happened and what to do, human-readable. */
export function explain({ kind, code }: DatabaseFailure, path: string): string {
  return `The database ${path} ${FIXES[kind]} (${code}).`;
}
