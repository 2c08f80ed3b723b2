import { Pool } from 'pg';
import { createTurns, withTimeout } from '../../../platform/async.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Log } from '../../../platform/log.ts';
import { newSecret } from '../../../platform/secrets.ts';
import {
  type OpenedStore,
  refusingStore,
  type Store,
  type StoredProvider,
  type StoreRefusal,
  type WriteResult,
} from '../store.ts';
import {
  createConnections,
  DATABASE_TIMES,
  type DatabaseTimes,
  explainDatabase,
  type PoolMember,
} from './connection.ts';
import { createReader } from './reader.ts';
import {
  endLease,
  readEvents,
  readLastEventAt,
  runAll,
  type Statement,
  statementsOf,
  takeLease,
} from './statements.ts';

interface PostgresOptions extends PoolMember {
  readonly url: string;
  readonly times?: DatabaseTimes;
}

/** Longer than a run of a verification and what it writes, so that no lease has to be renewed. */
const LEASE_MS = 75_000;

/**
 * Opens a PostgreSQL that several gateways share. If it does not answer, it is waited for in the background; if a person
 * has to act first, the store refuses everything.
 */
export async function openPostgresStore(
  { url, shown, home, secretDigest, times = DATABASE_TIMES }: PostgresOptions,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<OpenedStore> {
  const run = `inglenook_${newSecret().slice(0, 16)}`;
  const connections = createConnections(url, run, times.answerMs);
  const member = { shown, secretDigest, home };
  const reader = createReader(member, { connection: connections.config, run, clock, log });
  // What is read before the registry exists, which then follows from the beginning.
  const providers = new Map<string, StoredProvider>();
  reader.follow({
    all() {},
    provider(id, stored) {
      if (stored === null) providers.delete(id);
      else providers.set(id, stored.provider);
    },
  });
  const opening = await withTimeout(reader.opened, { clock, ms: times.startMs });
  if (opening.kind === 'settled' && opening.value !== null) {
    await reader.stop();
    connections.destroy();
    return refusingStore(opening.value);
  }
  // One connection, which is opened again after a failure: writes keep the order in which they were sent.
  const pool = new Pool({ ...connections.config, max: 1, idleTimeoutMillis: 0 });
  // Without a listener an error of the connection would end the process; the query that fails with it is answered.
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', () => {});
  const inTurn = createTurns();
  let closed: Promise<void> | null = null;

  /** Calls keep their order, and none waits for a database that is known to be away. */
  function attempt<T>(work: () => Promise<T>, otherwise: (problem: string) => T): Promise<T> {
    if (closed !== null)
      return Promise.resolve(otherwise(`The pool's database ${shown} is closed.`));
    return inTurn(async () => {
      const problem = reader.problem();
      if (problem !== null) return otherwise(problem);
      try {
        return await work();
      } catch (error) {
        return otherwise(explainDatabase(error, shown));
      }
    });
  }

  const store: Store = {
    write(changes) {
      const statements = changes.flatMap((change) => statementsOf(change, { run, home }));
      return attempt<WriteResult>(
        async () => (await runTogether(pool, statements)) ?? { kind: 'written' },
        (message) => ({ kind: 'unwritten', message }),
      );
    },
    events(providerId) {
      return attempt(
        () => readEvents(pool, providerId),
        (error) => {
          log('warn', 'store_unread', { error });
          return [];
        },
      );
    },
    async close() {
      closed ??= inTurn(async () => {
        await reader.stop();
        connections.destroy();
      });
      await closed;
    },
    shared: {
      problem: () => reader.problem(),
      follow: (follower) => reader.follow(follower),
      refresh: (id) => reader.refresh(id),
      async lease(id) {
        const isTaken = await attempt(
          () => takeLease(pool, id, { run, ms: LEASE_MS }),
          () => false,
        );
        // What the last holder has found out comes first.
        if (isTaken) await reader.refresh(id);
        const release = () => endLease(pool, id, run);
        return isTaken ? () => void attempt(release, () => {}) : null;
      },
    },
  };
  const lastEventAt = await attempt(
    () => readLastEventAt(pool),
    () => 0,
  );
  // Tokens stay in the database, which decides who takes one.
  const state = { providers: [...providers.values()], enrollments: [], lastEventAt };
  return { store, state, notice: reader.problem() };
}

/** Null if all statements were run; all are undone if one is refused. */
async function runTogether(
  pool: Pool,
  statements: readonly Statement[],
): Promise<StoreRefusal | null> {
  if (statements.length === 1) return runAll(pool, statements);
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const refusal = await runAll(client, statements);
    await client.query(refusal === null ? 'COMMIT' : 'ROLLBACK');
    client.release();
    return refusal;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
