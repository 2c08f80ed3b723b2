import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { StoreChange } from '../../../main/registry/store/store.ts';
import {
  document,
  keep,
  kept,
  newPath,
  openHere,
  openTestStore,
  put,
} from '../../support/store.ts';

test('a database file that does not exist is made, with its folder, and holds nothing', async () => {
  const { state, warning, lines } = await openTestStore(join(dirname(newPath()), 'a', 'b', 'c.db'));
  expect(state).toEqual({ providers: [], enrollments: [], documents: {} });
  expect([warning, lines]).toEqual([null, []]);
});

test('writes that wait go into one transaction', async () => {
  const path = newPath();
  const { store } = await openTestStore(path);
  const writes = Array.from({ length: 500 }, (_, n) => store.write([document('b', `${n}`)]));
  expect(new Set((await Promise.all(writes)).map(({ kind }) => kind))).toEqual(
    new Set(['written']),
  );
  // Each transaction adds a page to the log; the thread takes some while the others are still sent.
  expect(statSync(`${path}-wal`).size).toBeLessThan(250 * 4096);
});

test('enrolments that have expired are dropped at the next start', async () => {
  const path = newPath();
  const { store } = await openTestStore(path);
  const at = (expiresAt: number): StoreChange => ({
    kind: 'enrollment',
    enrollment: { digest: `${expiresAt}`, expiresAt },
  });
  const now = Date.UTC(2026, 5, 1);
  await keep(store, at(now - 1), at(now), at(now + 1));
  await store.close();
  expect(kept(path, now).enrollments).toEqual([{ digest: `${now + 1}`, expiresAt: now + 1 }]);
  expect(kept(path, now + 1).enrollments).toEqual([]);
});

test('the database file and all that belongs to it are for their owner alone', async () => {
  const path = newPath();
  const { store } = await openTestStore(path);
  await keep(store, put());
  const modes = ['', '-wal', '-shm'].map((suffix) => statSync(path + suffix).mode & 0o777);
  expect(modes).toEqual([0o600, 0o600, 0o600]);
});

test('each commit goes to the disk itself, by way of a log', () => {
  const { db } = openHere(newPath());
  const pragma = (name: string) => db.pragma(name, { simple: true });
  expect([pragma('journal_mode'), pragma('synchronous'), pragma('fullfsync')]).toEqual([
    'wal',
    2,
    1,
  ]);
});
