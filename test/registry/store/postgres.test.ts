import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { migrate, MIGRATIONS } from '../../../main/registry/store/postgres/migrations.ts';
import { IMPATIENT, openingShared, openShared } from '../../support/pooled.ts';
import { PASSWORD, POSTGRES_SKIPPED, usePostgres } from '../../support/postgres.ts';
import { keep, put } from '../../support/store.ts';

const postgres = usePostgres();

async function connection(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

const OURS = { secretDigest: 'digest', shown: 'postgres://db/pool' };

const versionIn = (url: string) =>
  postgres.query<object>(url, 'SELECT version, secret_digest FROM inglenook.pool');

const CURRENT = [{ version: MIGRATIONS.length, secret_digest: 'digest' }];

async function refusal(url: string, secretDigest = 'digest') {
  const { opened, lines } = await openingShared(url, 'gw_a', { secretDigest });
  // Everything is refused for the reason that the owner reads.
  const { notice } = opened;
  expect(await opened.store.write([put()])).toEqual({ kind: 'unwritten', message: notice });
  return { notice, lines };
}

describe.runIf(POSTGRES_SKIPPED === null)('a shared database', () => {
  test('gateways that start at the same moment on an empty database set it up once', async () => {
    const url = await postgres.database();
    const all = await Promise.all(
      Array.from({ length: 4 }, async (_, n) => openingShared(url, `gw_${n}`)),
    );
    expect(all.map(({ opened }) => opened.notice)).toEqual([null, null, null, null]);
    expect(await versionIn(url)).toEqual(CURRENT);
  });

  test('a database keeps its machines over a schema step of a newer gateway', async () => {
    const url = await postgres.database();
    const { store } = await openShared(url);
    await keep(store, put());
    const newer = [...MIGRATIONS, 'ALTER TABLE inglenook.providers ADD COLUMN mood text'];
    expect(await migrate(await connection(url), OURS, newer)).toBeNull();
    expect(await versionIn(url)).toEqual([{ ...CURRENT[0], version: MIGRATIONS.length + 1 }]);
    // A gateway that is connected goes on; it refuses the schema when it connects again.
    await keep(store, put({ id: 'prv_later' }));
    expect(
      await postgres.query(url, 'SELECT id FROM inglenook.providers WHERE mood IS NULL'),
    ).toHaveLength(2);
  });

  test('a database that a newer version has set up is refused and left unchanged', async () => {
    const url = await postgres.database();
    await (await openShared(url)).store.close();
    const known = MIGRATIONS.length;
    await postgres.query(url, `UPDATE inglenook.pool SET version = ${known + 7}`);
    const { notice } = await refusal(url);
    expect(notice).toMatch(`(schema ${known + 7}, this one knows ${known})`);
    expect(await versionIn(url)).toEqual([{ ...CURRENT[0], version: known + 7 }]);
  });

  test('a schema step that fails leaves the schema as it was', async () => {
    const url = await postgres.database();
    const bad = 'CREATE TABLE inglenook.half (id text); SELECT nothing';
    await expect(migrate(await connection(url), OURS, [...MIGRATIONS, bad])).rejects.toThrow(
      /nothing/,
    );
    const schemas = await postgres.query(url, `SELECT to_regnamespace('inglenook') AS schema`);
    expect(schemas).toEqual([{ schema: null }]);
  });

  test('a gateway with another secret is refused, and the message says which file to copy', async () => {
    const url = await postgres.database();
    await openShared(url);
    const { notice } = await refusal(url, 'another digest');
    expect(notice).toMatch(/copy the file gateway-secret from the data directory/);
  });

  test('a wrong database password is a warning that says what to do, and no text holds a password', async () => {
    const url = (await postgres.database()).replace(PASSWORD, 'wr0ng-w0rd');
    const { opened, lines } = await openingShared(url, 'gw_a', { times: IMPATIENT });
    expect(opened).toMatchObject({
      notice: expect.stringMatching(/refuses access.*\(28P01\)/),
      state: { providers: [] },
    });
    const said = JSON.stringify([opened, lines]);
    for (const secret of [PASSWORD, 'wr0ng-w0rd']) expect(said).not.toContain(secret);
    const unwritten = await opened.store.write([put()]);
    expect(unwritten).toMatchObject({ message: expect.stringContaining('28P01') });
  });
});
