import { Client, type ClientConfig } from 'pg';
import { createRounds } from '../../../platform/async.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Log } from '../../../platform/log.ts';
import type { StoreFollower } from '../store.ts';
import { explainDatabase, type PoolMember } from './connection.ts';
import { migrate, PROVIDERS_CHANNEL } from './migrations.ts';
import { readIds, readProviders } from './statements.ts';

interface ReaderEdges {
  readonly connection: ClientConfig;
  readonly run: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Announcements within this time are read together. */
const BATCH_MS = 100;
/** How often the database has to answer, whether or not it announces anything. */
const CHECK_MS = 5000;
const RETRY_MS = 1000;
/** How often everything is read, whatever was announced. */
const ALL_MS = 600_000;
/** Rows are parsed in this thread, in about 5 ms; then requests have their turn. */
const ROWS_AT_ONCE = 50;

/** Keeps a connection to the database, and reads what it announces. */
export function createReader(member: PoolMember, { connection, run, clock, log }: ReaderEdges) {
  const { shown, home } = member;
  const { promise: opened, resolve: open } = Promise.withResolvers<string | null>();
  let follower: StoreFollower | null = null;
  let client: Client | null = null;
  let problem: string | null = `The pool's database ${shown} has not answered yet.`;
  let due = new Set<string>();
  let allDueTicks = -Infinity;
  let nextRead = Promise.withResolvers<void>();
  const rounds = createRounds(round, { clock, minGapMs: BATCH_MS });

  /** Reads what is due, over a new connection if there is none; returns the pause after it. */
  async function round(): Promise<number> {
    const read = nextRead;
    nextRead = Promise.withResolvers();
    try {
      client ??= await connected();
      if (client === null) return RETRY_MS;
      await readDue(client);
      note(null);
      return CHECK_MS;
    } catch (error) {
      disconnect();
      note(explainDatabase(error, shown));
      return RETRY_MS;
    } finally {
      read.resolve();
    }
  }

  /** Null if this gateway must not use the database. */
  async function connected(): Promise<Client | null> {
    const made = new Client(connection);
    // Without a listener it would end the process. The next query fails with it.
    made.on('error', () => rounds.runNow());
    made.on('notification', ({ payload = '' }) => onAnnounced(payload));
    try {
      await made.connect();
      const unusable = await migrate(made, member);
      if (unusable === null) {
        await made.query(`LISTEN ${PROVIDERS_CHANNEL}`);
        allDueTicks = -Infinity;
        return made;
      }
      note(unusable);
      open(unusable);
      await made.end();
      return null;
    } catch (error) {
      void made.end().catch(() => {});
      throw error;
    }
  }

  function onAnnounced(payload: string): void {
    const [id = '', writer] = payload.split(' ');
    if (writer === run) return;
    due.add(id);
    rounds.runNow();
  }

  async function readDue(database: Client): Promise<void> {
    if (follower === null) return;
    if (clock.ticks() >= allDueTicks) await noteAll(database, follower);
    const ids = [...due];
    due = new Set();
    // Something is asked in any case, to see whether the database answers.
    let at = 0;
    do {
      const piece = ids.slice(at, at + ROWS_AT_ONCE);
      const found = await readProviders(database, home, piece);
      for (const id of piece) follower.provider(id, found.get(id) ?? null);
      at += ROWS_AT_ONCE;
    } while (at < ids.length);
  }

  async function noteAll(database: Client, told: StoreFollower): Promise<void> {
    allDueTicks = clock.ticks() + ALL_MS;
    const ids = await readIds(database, home);
    told.all(ids);
    due = new Set(ids);
  }

  function disconnect(): void {
    void client?.end().catch(() => {});
    client = null;
  }

  function note(now: string | null): void {
    if (now === problem) return;
    problem = now;
    if (now !== null) return log('error', 'pool_away', { error: now });
    log('info', 'pool_connected');
    open(null);
  }

  return {
    /** Resolves with null once the database answers, or with the reason, for people, why this gateway must not use it. */
    opened,
    /** Why the database cannot be used now, for people; null if it can. */
    problem: (): string | null => problem,
    /** Tells `next` everything, and then what changes. */
    follow(next: StoreFollower): void {
      follower = next;
      allDueTicks = -Infinity;
      rounds.start();
      rounds.runNow();
    },
    /** Reads a provider now; resolves once that was tried. */
    async refresh(id: string): Promise<void> {
      if (problem !== null) return;
      due.add(id);
      rounds.runNow();
      await nextRead.promise;
    },
    stop: () => rounds.stop(),
  };
}
