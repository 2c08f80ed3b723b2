import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SCHEMA } from '../../../main/app/database-thread.ts';
import { DATABASE_FILE } from '../../../main/app/database.ts';
import { openFile } from '../../../main/platform/database/file.ts';
import { silentLog } from '../../../main/platform/log.ts';
import { openDatabaseHere, openFileHere } from '../../support/database.ts';
import { temporaryDirectory } from '../../support/gateway.ts';
import { createKeptLog } from '../../support/log.ts';
import { openTestStore, put, storedProvider } from '../../support/store.ts';

/** Opens a store with two machines, of which another hand has changed the second. */
async function openTampered(set: string) {
  const directory = temporaryDirectory();
  const { db, registry } = openFileHere(directory);
  registry.writes.apply([put({ id: 'prv_a' }), put({ id: 'prv_b' })]);
  db.exec(`UPDATE providers SET ${set} WHERE id = 'prv_b'`);
  db.close();
  const { log, lines } = createKeptLog();
  const { state, notice } = await openTestStore(directory, log, openDatabaseHere);
  expect(notice).toBeNull();
  return { providers: state.providers, lines };
}

test.each([`id = ''`, `sequence = -1`, `enrolled_at = 9e18`, `token_salt = '', record = 'secret'`])(
  'a stored machine that cannot be read is left out, and the log has only their number: %s',
  async (set) => {
    const { providers, lines } = await openTampered(set);
    expect(providers).toEqual([storedProvider({ id: 'prv_a' })]);
    expect(lines).toEqual(['store_rows_left_out {"rows":1}']);
  },
);

test.each([`'{"chip":'`, `'[]'`, `json_set(record, '$.gpu.devices[0].util_gpu', 'secret')`])(
  'a stored record that cannot be read counts as never sent: %s',
  async (record) => {
    const { providers } = await openTampered(`record = ${record}`);
    expect(providers).toEqual([
      storedProvider({ id: 'prv_a' }),
      storedProvider({ id: 'prv_b', record: null, lastHeartbeatAt: null }),
    ]);
  },
);

test('the note of an earlier version stays with its machine', async () => {
  const directory = temporaryDirectory();
  const opened = openFile(join(directory, DATABASE_FILE), SCHEMA.migrations.slice(0, 2), 0);
  if (opened.kind === 'unusable') throw new Error(opened.message);
  opened.db
    .exec(`INSERT INTO providers VALUES ('prv_a', 'key', 'salt', 1, 1, NULL, '', 0, NULL, '{}');
    INSERT INTO documents VALUES ('note:prv_a', '{"name":"Attic","note":""}'), ('note:prv_b', '{}')`);
  opened.db.close();
  const { state } = await openTestStore(directory, silentLog, openDatabaseHere);
  expect(state.providers.map(({ note }) => note)).toEqual([{ name: 'Attic', note: '' }]);
});
