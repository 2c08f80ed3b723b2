import { Socket } from 'node:net';
import { Client } from 'pg';
import { createTurns } from '../platform/async.ts';
import { codeOf } from '../platform/errors.ts';

/** One connection to the database. Any failure ends it, and its owner opens another one. */
export interface Connection {
  /** Runs one statement; rejects with a database error, or once `timeoutMs` have passed. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs statements without parameters. */
  run(sql: string): Promise<void>;
  readonly lost: Promise<void>;
  /** Closes it at once, whether or not the server still answers. */
  destroy(): void;
}

interface ConnectionOptions {
  readonly url: string;
  /** Longest wait for each answer. */
  readonly timeoutMs: number;
  readonly connectMs?: number;
  readonly onNotification?: (channel: string, payload: string) => void;
}

export async function connect({
  url,
  timeoutMs,
  connectMs = timeoutMs,
  onNotification,
}: ConnectionOptions): Promise<Connection> {
  const socket = new Socket();
  const client = new Client({
    connectionString: url,
    application_name: 'inglenook',
    connectionTimeoutMillis: connectMs,
    query_timeout: timeoutMs,
    // The server gives up too, so that it does not go on with work that nobody waits for.
    statement_timeout: timeoutMs,
    idle_in_transaction_session_timeout: timeoutMs,
    keepAlive: true,
    stream: () => socket,
  });
  const lost = Promise.withResolvers<void>();
  // Without a listener an error would end the thread; each waiting query is rejected with it too.
  client.on('error', () => socket.destroy());
  client.on('end', () => lost.resolve());
  socket.on('close', () => lost.resolve());
  if (onNotification !== undefined)
    client.on('notification', ({ channel, payload = '' }) => onNotification(channel, payload));
  try {
    await client.connect();
  } catch (error) {
    socket.destroy();
    throw error;
  }
  /** A connection runs one statement at a time; others wait their turn here. */
  const inTurn = createTurns();
  return {
    async query<Row>(text: string, values: readonly unknown[] = []) {
      const { rows } = await inTurn(() => client.query({ text, values: [...values] }));
      return rows as Row[];
    },
    async run(sql) {
      await inTurn(() => client.query(sql));
    },
    lost: lost.promise,
    destroy: () => void socket.destroy(),
  };
}

/** Contains neither written data nor the address, so it may be shown and logged. */
interface DatabaseFailure {
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

export interface Session {
  readonly writer: Connection;
  /** Receives announcements of commits, reads them, and holds the leases. */
  readonly reader: Connection;
  end(): void;
}
