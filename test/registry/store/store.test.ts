import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { StoreChange, StoredEvent } from '../../../main/registry/store/store.ts';
import {
  document,
  keep,
  kept,
  newPath,
  openHere,
  openTestStore,
  otherProgram,
  put,
  storedProvider,
} from '../../support/store.ts';

const ID = storedProvider().id;
const event = (text: string, providerId = ID): StoredEvent => ({
  providerId,
  at: Date.UTC(2026, 0, 1),
  kind: 'status',
  text,
});
const tell = (text: string, providerId = ID): StoreChange => ({
  kind: 'event',
  event: event(text, providerId),
});

test('a database file that does not exist is made, with its folder, and holds nothing', async () => {
  const { state, warning, lines } = await openTestStore(join(dirname(newPath()), 'a', 'b', 'c.db'));
  expect(state).toEqual({ providers: [], enrollments: [], documents: {} });
  expect([warning, lines]).toEqual([null, []]);
});

test('everything written to the database comes back as it was', async () => {
  const path = newPath();
  const { store } = await openTestStore(path);
  const fresh = storedProvider({ id: 'prv_new', record: null, lastHeartbeatAt: null });
  const enrollment = { digest: 'ab'.repeat(32), expiresAt: Date.UTC(2026, 0, 1, 1) };
  await keep(
    store,
    put(),
    { kind: 'provider', provider: fresh },
    { kind: 'enrollment', enrollment },
    document('circuits', '{"version":1}'),
    document('__proto__', '[]'),
  );
  await store.close();
  const state = kept(path);
  expect(state.providers).toEqual([storedProvider(), fresh]);
  expect(state.enrollments).toEqual([enrollment]);
  expect(Object.entries(state.documents)).toEqual([
    ['circuits', '{"version":1}'],
    ['__proto__', '[]'],
  ]);
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

test('a history comes newest first, for each provider on its own', async () => {
  const { store } = await openTestStore(newPath());
  await keep(store, put(), put({ id: 'prv_2' }), tell('one'), tell('else', 'prv_2'), tell('two'));
  expect(await store.events(ID, 10)).toEqual([event('two'), event('one')]);
  expect(await store.events(ID, 1)).toEqual([event('two')]);
  expect(await store.events('prv_2', 10)).toEqual([event('else', 'prv_2')]);
  expect(await store.events('prv_unknown', 10)).toEqual([]);
  expect(await store.events(ID, 0)).toEqual([]);
  expect(await store.events(ID, -1)).toEqual([]);
});

test('the newest 50 events of each provider are kept', async () => {
  const path = newPath();
  const { store } = await openTestStore(path);
  const texts = Array.from({ length: 130 }, (_, n) => `event ${n}`);
  await keep(store, put(), put({ id: 'prv_2' }), tell('quiet', 'prv_2'));
  await keep(store, ...texts.slice(0, 60).map((text) => tell(text)));
  for (const text of texts.slice(60)) void store.write([tell(text)]);
  const told = await store.events(ID, 1000);
  expect(told.map(({ text }) => text)).toEqual(texts.slice(80).toReversed());
  expect(await store.events('prv_2', 1000)).toHaveLength(1);
  const count = otherProgram(path).prepare('SELECT count(*) AS n FROM events').get();
  expect(count).toEqual({ n: 51 });
});

test('a heartbeat keeps the history; removing the provider drops it, and late events with it', async () => {
  const { store } = await openTestStore(newPath());
  await keep(store, put(), tell('enrolled'));
  await keep(store, put({ sequence: 2 }));
  expect(await store.events(ID, 10)).toHaveLength(1);
  await keep(store, { kind: 'provider_removed', id: ID });
  await keep(store, tell('too late'), document('beside', '1'));
  await keep(store, put());
  expect(await store.events(ID, 10)).toEqual([]);
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

test('a closing store writes what was sent before it, and leaves no log', async () => {
  const path = newPath();
  const { store } = await openTestStore(path);
  const writes = Array.from({ length: 1500 }, (_, n) => store.write([document('n', `${n}`)]));
  const told = store.events(ID, 5);
  const closed = store.close();
  expect(new Set((await Promise.all(writes)).map(({ kind }) => kind))).toEqual(
    new Set(['written']),
  );
  expect(await told).toEqual([]);
  await closed;
  expect(readdirSync(dirname(path))).toEqual(['registry.db', 'registry.db.machines']);
  expect(kept(path).documents).toEqual({ n: '1499' });
});

test('a closed store still answers: writes are unwritten, histories empty, and closing again does nothing', async () => {
  const { store, lines } = await openTestStore(newPath());
  await Promise.all([store.close(), store.close()]);
  expect(await store.write([put()])).toEqual({
    kind: 'unwritten',
    message: "The registry's database is closed.",
  });
  expect(await store.events(ID, 5)).toEqual([]);
  await store.close();
  expect(lines).toEqual([]);
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
