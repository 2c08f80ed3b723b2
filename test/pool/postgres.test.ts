import { describe, expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { commit, prepareCommits } from '../../main/pool/commit.ts';
import { connect, type Connection } from '../../main/pool/connection.ts';
import { createLeases } from '../../main/pool/leases.ts';
import { syncMembers } from '../../main/pool/members.ts';
import { migrate, MIGRATIONS } from '../../main/pool/migrations.ts';
import { NO_FIGURES, POOL_TIMES } from '../../main/pool/protocol.ts';
import { IMPATIENT, openingShared, openShared } from '../support/pool.ts';
import { PASSWORD, POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';
import { keep, put } from '../support/store.ts';

const postgres = usePostgres();

/** Enough that two statements in place of one would have been seen to disagree. */
const LOOKS = 300;

async function connection(url: string): Promise<Connection> {
  return connect({ url, timeoutMs: 20_000 });
}

const versionIn = (url: string) =>
  postgres.query<object>(url, 'SELECT schema_version, works_with FROM inglenook.pool');

/** A step that goes on until a commit waits for it, and then needs what a commit has. */
const MET_BY_A_WRITE = {
  worksWith: 1,
  sql: `
ALTER TABLE inglenook.providers ADD COLUMN mood text NOT NULL DEFAULT 'calm';
DO $$ BEGIN
  WHILE NOT EXISTS (SELECT FROM pg_locks l, pg_stat_activity a
    WHERE NOT l.granted AND a.pid = l.pid AND a.query LIKE '%commit_writes%') LOOP
    PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
  END LOOP;
END $$;`,
};

/** Of the functions that a gateway makes, those of its second connection. */
const REFUSE_EXCHANGE = `
CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_query() LIKE '%put_circuits%' THEN RAISE 'refused'; END IF;
END $$;
CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION public.refuse();`;

const CONNECTIONS = `SELECT FROM pg_stat_activity
  WHERE application_name = 'inglenook' AND datname = current_database()`;

const CHANGED_TABLES = `SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted
  AND relation = 'inglenook.providers'::regclass`;

async function refusal(url: string, secretDigest?: string) {
  const { opened, lines } = await openingShared(url, 'gw_a', { secretDigest });
  if (opened.kind === 'open') throw new Error('it opened');
  return { ...opened, lines };
}

describe.runIf(POSTGRES_SKIPPED === null)('a shared database', () => {
  test('gateways that start at the same moment on an empty database set it up once', async () => {
    const url = await postgres.database();
    const all = await Promise.all(
      Array.from({ length: 4 }, async (_, n) => openingShared(url, `gw_${n}`)),
    );
    expect(all.map(({ opened }) => opened.kind)).toEqual(['open', 'open', 'open', 'open']);
    expect(await versionIn(url)).toEqual([{ schema_version: MIGRATIONS.length, works_with: 1 }]);
  });

  test('a database that a newer version has set up is refused and left unchanged', async () => {
    const url = await postgres.database();
    await (await openShared(url)).store.close();
    const newer = { schema_version: MIGRATIONS.length + 7, works_with: MIGRATIONS.length + 1 };
    await postgres.query(
      url,
      `UPDATE inglenook.pool SET schema_version = ${newer.schema_version}, works_with = ${newer.works_with}`,
    );
    const { reason, message, lines } = await refusal(url);
    expect(reason).toBe('newer_schema');
    const known = MIGRATIONS.length;
    expect(message).toMatch(`(schema ${known + 7}, this one knows ${known})`);
    expect(message).toMatch(/newer Inglenook.*install the newer/);
    expect(lines).toHaveLength(1);
    expect(await versionIn(url)).toEqual([newer]);
  });

  test('the previous version keeps running alongside a newer one whose schema step leaves it working', async () => {
    const url = await postgres.database();
    const old = await openShared(url, 'gw_old');
    const next = { worksWith: 1, sql: 'ALTER TABLE inglenook.providers ADD COLUMN mood text' };
    const newer = await connection(url);
    const migrated = await migrate(newer, [...MIGRATIONS, next], 'digest');
    expect(migrated).toEqual({ kind: 'current' });
    await prepareCommits(newer);
    const request = { id: 1, changes: [put({ id: 'prv_of_new' })] } as const;
    const writer = { run: 'gw_new:1', home: 'gw_new', shown: '' };
    expect(await commit(newer, [request], writer)).toMatchObject([
      { id: 1, result: { kind: 'written' } },
    ]);
    newer.destroy();
    await keep(old.store, put({ id: 'prv_of_old' }));
    await old.store.close();
    const again = await openShared(url, 'gw_old');
    expect(again.state.providers.map(({ id }) => id)).toEqual(['prv_of_new', 'prv_of_old']);
    expect(await versionIn(url)).toEqual([
      { schema_version: MIGRATIONS.length + 1, works_with: 1 },
    ]);
  });

  test('a write that comes during a schema step of a newer gateway is written, and the step is made', async () => {
    const url = await postgres.database();
    const old = await openShared(url, 'gw_old');
    // A session keeps the plans of statements that it has made several times.
    for (let n = 0; n < 7; n += 1) await keep(old.store, put());
    const newer = await connection(url);
    const migrated = migrate(newer, [...MIGRATIONS, MET_BY_A_WRITE], 'digest');
    await expect.poll(() => postgres.query(url, CHANGED_TABLES)).toHaveLength(1);
    await keep(old.store, put({ id: 'prv_during' }));
    expect(await migrated).toEqual({ kind: 'current' });
    newer.destroy();
  });

  test('a gateway that stops anywhere in its preparation of the database keeps no other one waiting', async () => {
    const first = await connection(await postgres.database());
    const second = await connection(await postgres.database());
    const [backend] = await first.query<{ readonly pid: number }>('SELECT pg_backend_pid() AS pid');
    const states: unknown[] = [];
    async function looked<T>(asked: Promise<T>): Promise<T> {
      const answer = await asked;
      const state = 'SELECT state FROM pg_stat_activity WHERE pid = $1';
      states.push(...(await second.query(state, [backend?.pid])));
      return answer;
    }
    const watched: Connection = {
      ...first,
      query: (...asked) => looked(first.query(...asked)),
      run: (sql) => looked(first.run(sql)),
    };
    for (let n = 0; n < 2; n += 1) await migrate(watched, MIGRATIONS, 'digest');
    expect(states).not.toHaveLength(0);
    for (const state of states) expect(state).toEqual({ state: 'idle' });
    for (const each of [first, second]) each.destroy();
  });

  test('a schema step that fails leaves the schema as it was', async () => {
    const url = await postgres.database();
    const first = await connection(url);
    const bad = { worksWith: 2, sql: 'CREATE TABLE inglenook.half (id text); SELECT nothing' };
    await expect(migrate(first, [...MIGRATIONS, bad], 'digest')).rejects.toThrow(/nothing/);
    first.destroy();
    await openShared(url);
    expect(await versionIn(url)).toEqual([{ schema_version: MIGRATIONS.length, works_with: 1 }]);
  });

  test('a gateway with another secret is refused, and the message says which file to copy', async () => {
    const url = await postgres.database();
    await openShared(url);
    const { message } = await refusal(url, 'another digest');
    expect(message).toMatch(/copy the file gateway-secret from the data directory/);
  });

  test('a wrong database password is a warning that says what to do, and no text holds a password', async () => {
    const url = (await postgres.database()).replace(PASSWORD, 'wr0ng-w0rd');
    const { opened, lines } = await openingShared(url, 'gw_a', { times: IMPATIENT });
    expect(opened).toMatchObject({
      kind: 'open',
      warning: expect.stringMatching(/refuses access.*\(28P01\)/),
      state: { providers: [] },
    });
    const said = JSON.stringify([opened, lines]);
    for (const secret of [PASSWORD, 'wr0ng-w0rd']) expect(said).not.toContain(secret);
    const written = opened.kind === 'open' ? await opened.store.write([put()]) : null;
    expect(written).toMatchObject({ message: expect.stringContaining('28P01') });
  });

  test('a gateway that cannot prepare its connections leaves none of them open', async () => {
    const url = await postgres.database();
    await (await openShared(url)).store.close();
    await postgres.query(url, REFUSE_EXCHANGE);
    const { pool } = await openShared(url, 'gw_a', { times: IMPATIENT });
    await expect.poll(() => pool.status().problem).toContain('P0001');
    await expect.poll(() => postgres.query(url, CONNECTIONS)).toEqual([]);
  });

  test('a committed change is read even if nothing announced it', async () => {
    const url = await postgres.database();
    const { changes } = await openShared(url);
    await postgres.query(
      url,
      `WITH p AS (UPDATE inglenook.pool SET revision = revision + 1 RETURNING revision)
       INSERT INTO inglenook.enrollments SELECT 'silent', 4000000000000, revision FROM p`,
    );
    const digests = () =>
      changes.flatMap(({ enrollments }) => enrollments.map(({ digest }) => digest));
    await expect.poll(digests).toEqual(['silent']);
  });

  test('a lease that is given up late does not end the one that its gateway has taken since', async () => {
    const url = await postgres.database();
    await openShared(url);
    const database = await connection(url);
    const [before, after, other] = ['run_a', 'run_a', 'run_b'].map((run) =>
      createLeases(systemClock, run, POOL_TIMES),
    );
    expect(await before?.take(database, 'work', null)).toBe(1);
    expect(await after?.take(database, 'work', null)).toBe(2);
    await before?.release(database, 'work');
    expect(await other?.take(database, 'work', null)).toBeNull();
    await after?.release(database, 'work');
    expect(await other?.take(database, 'work', null)).toBe(3);
    database.destroy();
  });

  test('the counts of the gateways of a pool add up to its totals, whatever they count meanwhile', async () => {
    const url = await postgres.database();
    await openShared(url);
    const [busy, reader] = await Promise.all([connection(url), connection(url)]);
    const gateway = (id: string) => ({ id, run: `${id}:1`, host: 'host', version: '1.0.0' });
    const figures = { ...NO_FIGURES, revision: 0 };
    const seen: (readonly [number, number])[] = [];
    async function count(tokens = 1): Promise<void> {
      await syncMembers(busy, gateway('gw_busy'), { ...figures, tokens });
      if (seen.length < LOOKS) await count(tokens + 1);
    }
    const counting = count();
    while (seen.length < LOOKS) {
      const { gateways, totals } = await syncMembers(reader, gateway('gw_b'), figures);
      seen.push([gateways.reduce((sum, { tokens }) => sum + tokens, 0), totals.tokens]);
    }
    await counting;
    expect(new Set(seen.flat()).size).toBeGreaterThan(1);
    expect(seen.filter(([summed, total]) => summed !== total)).toEqual([]);
    for (const each of [busy, reader]) each.destroy();
  });

  test('texts that no database takes are stored as what they look like', async () => {
    const { store } = await openShared(await postgres.database());
    const event = { providerId: 'prv_x', at: 1, kind: 'status' } as const;
    await keep(store, put({ id: 'prv_x' }), {
      kind: 'event',
      event: { ...event, text: 'a\0b\uD800c' },
    });
    expect(await store.events('prv_x', 1)).toMatchObject([{ text: 'a\uFFFDb\uFFFDc' }]);
  });
});
