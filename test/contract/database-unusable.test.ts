import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { DATABASE_FILE } from '../../main/app/database.ts';
import { chat } from '../support/client.ts';
import { controlOf } from '../support/control.ts';
import { startIn, temporaryDirectory } from '../support/gateway.ts';
import { answers, startUpstream } from '../support/upstream.ts';

/** A gateway on a data directory in which the database is what `spoil` makes of it. */
async function start(spoil: (path: string) => void, settings = {}) {
  const directory = temporaryDirectory();
  spoil(join(directory, DATABASE_FILE));
  const hosted = await startUpstream(answers('routed'));
  const { url, host } = await startIn(directory, { HOSTED_A_BASE_URL: hosted.url, ...settings });
  const { post, read, patch } = controlOf({ url, dataDirectory: directory });
  const { notices } = host;
  return { url, notices, enrol: () => post('providers/enrollments'), read, patch };
}

function newerSchema(path: string): void {
  const database = new Database(path);
  database.pragma('user_version = 9999');
  database.close();
}

test.each<[name: string, spoil: (path: string) => void, says: RegExp]>([
  ['is of a newer version', newerSchema, /newer/],
  ['is no file', (path) => mkdirSync(path), /is a folder/],
])(
  'a gateway whose database %s answers requests, but enrols no machine',
  async (_title, spoil, says) => {
    const { url, notices, enrol, read } = await start(spoil);
    expect(await chat(url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
    expect(notices).toEqual([expect.stringMatching(says)]);
    const refused = await enrol();
    expect(refused.status).toBe(503);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'registry_unwritten' } });
    // What is in memory is listed, and the pages say why there is no more.
    const [problem] = notices;
    expect(await read('requests')).toMatchObject({ data: [{ state: 'done' }] });
    expect(await read('models/asked')).toMatchObject({ names: [], problem });
    expect(await read('history?range=day')).toMatchObject({ parts: [], problem });
  },
);

test('a damaged database is set aside, and a budget is not spent again before the owner decides', async () => {
  const spoil = (path: string) => writeFileSync(path, 'no database');
  const { url, notices, enrol, patch } = await start(spoil, { HOSTED_A_BUDGET_DAY: '5' });
  const held = expect.stringMatching(/from 0.*“Never spend money” is on until you switch it off/);
  expect(notices).toEqual([expect.stringMatching(/inglenook\.db\.bad-/), held]);
  expect(await chat(url)).toMatchObject({ status: 503 });
  await patch({ routing: { forceZero: false } });
  expect(await chat(url)).toMatchObject({ status: 200 });
  expect((await enrol()).status).toBe(201);
});
