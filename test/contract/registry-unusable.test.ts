import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { createHost } from '../../main/app/app.ts';
import { loadConfig } from '../../main/config/load.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { readControlToken } from '../../main/platform/secrets.ts';
import { openStore } from '../../main/registry/store/open-store.ts';
import { chat } from '../support/client.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { bearer, postJson } from '../support/http.ts';
import { answers, startUpstream } from '../support/upstream.ts';

/** A gateway on a data directory in which the registry's file is what `spoil` makes of it. */
async function start(spoil: (path: string) => void) {
  const dataDirectory = temporaryDirectory();
  spoil(join(dataDirectory, 'registry.db'));
  const hosted = await startUpstream(answers('routed'));
  const env = {
    INGLENOOK_PORT: '0',
    INGLENOOK_AGENT: 'false',
    INGLENOOK_HOSTED_A_BASE_URL: hosted.url,
  };
  const loaded = loadConfig(env, {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const host = await createHost(
    { loaded, dataDirectory, windowDirectory: dataDirectory },
    { openStore, clock: systemClock, random: () => 0.5, log: silentLog },
  );
  const { url } = await host.start();
  onTestFinished(() => host.stop());
  const control = bearer(readControlToken(dataDirectory) ?? '');
  return {
    url,
    notices: host.notices,
    enrol: () => postJson(`${url}/api/v1/providers/enrollments`, {}, control),
  };
}

function newerSchema(path: string): void {
  const database = new Database(path);
  database.pragma('user_version = 9999');
  database.close();
}

test.each<[name: string, spoil: (path: string) => void, says: RegExp]>([
  ['is of a newer version', newerSchema, /newer/],
  ['is no file', (path) => mkdirSync(path), /registry\.db/],
])('a database that %s stops no request, and enrols nobody', async (_title, spoil, says) => {
  const { url, notices, enrol } = await start(spoil);
  expect(await chat(url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
  expect(notices).toEqual([expect.stringMatching(says)]);
  const refused = await enrol();
  expect(refused.status).toBe(503);
  expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'registry_unwritten' } });
});

test('a damaged database is set aside, and the registry begins again', async () => {
  const { url, notices, enrol } = await start((path) => writeFileSync(path, 'no database'));
  expect(await chat(url)).toMatchObject({ status: 200 });
  expect(notices).toEqual([expect.stringMatching(/registry\.db\.bad-/)]);
  expect((await enrol()).status).toBe(201);
});
