import { codeOf } from '../../../platform/errors.ts';

/** Contains neither written data nor the address, so it may be shown and logged. */
export interface DatabaseFailure {
  /** SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html) or the name of an errno. */
  readonly code: string;
  /** `refused`: the change itself cannot be stored; `away`: there was no answer; `denied`: a person has to act. */
  readonly kind: 'refused' | 'away' | 'denied' | 'full';
}

/** Only the code of an error is read: a message may quote the data that was written, or the address. */
export function databaseFailureOf(error: unknown): DatabaseFailure {
  const code = codeOf(error);
  if (code === null || !/^[A-Z0-9_]{1,40}$/.test(code))
    return { code: timedOut(error) ? 'timeout' : 'unknown', kind: 'away' };
  return { code, kind: kindOf(code) };
}

const timedOut = (error: unknown) => error instanceof Error && /time-?d? ?out/i.test(error.message);

function kindOf(code: string): DatabaseFailure['kind'] {
  if (/^(22|23|54)/.test(code)) return 'refused';
  if (/^(28|3D|3F|42501)/.test(code)) return 'denied';
  return code === '53100' ? 'full' : 'away';
}

const FIXES: Readonly<Record<DatabaseFailure['kind'], string>> = {
  refused: 'refused this change',
  away: 'does not answer: start it, or check whether this machine can reach it',
  denied:
    'refuses access: check that the database exists, that the user and the password are right, and that the user may create a schema',
  full: 'cannot grow: the disk is full, free some space on it',
};

/** What happened and what to do, human-readable; `shown` is the address without its secrets. */
export function explainDatabase({ kind, code }: DatabaseFailure, shown: string): string {
  return `The pool's database ${shown} ${FIXES[kind]} (${code}).`;
}
