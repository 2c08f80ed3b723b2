import { Socket } from 'node:net';
import { Client } from 'pg';
import { createTurns } from '../../../platform/async.ts';

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
  /** Longest wait for the connection; by default the same. */
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
    application_name: 'switchyard',
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
