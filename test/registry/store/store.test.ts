import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { StoreChange } from '../../../main/registry/store/store.ts';
import { keep, kept, newPath, openTestStore, put } from '../../support/store.ts';

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
