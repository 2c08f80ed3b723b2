import { Socket } from 'node:net';
import type { ClientConfig } from 'pg';
import { codeOf } from '../../../platform/errors.ts';

/** The database of a pool, and the gateway that uses it. */
export interface PoolMember {
  /** The address of the database without its secrets. */
  readonly shown: string;
  /** Reveals gateways that have another secret, but not the secret. */
  readonly secretDigest: string;
  /** This gateway, the same across restarts. */
  readonly home: string;
}

/** How long the database is waited for. */
export interface DatabaseTimes {
  /** A database that takes longer than this to answer counts as away. */
  readonly answerMs: number;
  /** How long the start waits for the database; then the registry starts without it. */
  readonly startMs: number;
}

export const DATABASE_TIMES: DatabaseTimes = { answerMs: 5000, startMs: 10_000 };

/** How connections are made. `run` is by which a gateway knows its own writes. */
export function createConnections(url: string, run: string, answerMs: number) {
  const sockets = new Set<Socket>();
  return {
    config: {
      connectionString: url,
      application_name: run,
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
      // The server gives up too, so that a gateway that is suspended keeps no other one waiting.
      statement_timeout: answerMs,
      idle_in_transaction_session_timeout: answerMs,
      keepAlive: true,
      stream() {
        const socket = new Socket();
        sockets.add(socket.on('close', () => sockets.delete(socket)));
        return socket;
      },
    } satisfies ClientConfig,
    /** Ends all of them at once: a server that hangs would not take leave. */
    destroy(): void {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** `refused`: the change itself cannot be stored; `away`: there was no answer; `denied`: a person has to act. */
type FailureKind = 'refused' | 'away' | 'denied' | 'full';

const FIXES: Readonly<Record<FailureKind, string>> = {
  refused: 'refused this change',
  away: 'does not answer: start it, or check whether this machine can reach it',
  denied:
    'refuses access: check that the database exists, that the user and the password are right, and that the user may create a schema',
  full: 'cannot grow: the disk is full, free some space on it',
};

/**
 * What happened and what to do; `shown` is the address without its secrets. Only the code of an error is read (SQLSTATE
 * or errno): a message may quote the data that was written, or the address.
 */
export function explainDatabase(error: unknown, shown: string): string {
  const code = codeOf(error);
  const isCode = code !== null && /^[A-Z0-9_]{1,40}$/.test(code);
  const [kind, name] = isCode ? [kindOf(code), code] : ['away' as const, 'timeout'];
  return `The pool's database ${shown} ${FIXES[kind]} (${name}).`;
}

/** Tells failures by the class of their SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
function kindOf(code: string): FailureKind {
  if (/^(22|23|40|54)/.test(code)) return 'refused';
  if (/^(28|3D|3F|42501)/.test(code)) return 'denied';
  return code === '53100' ? 'full' : 'away';
}
