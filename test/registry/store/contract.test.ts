import { describe, expect, test } from 'vitest';
import type {
  OpenedStore,
  StoreChange,
  Store,
  StoredState,
} from '../../../main/registry/store/store.ts';
import { temporaryDirectory } from '../../support/gateway.ts';
import { openShared } from '../../support/pooled.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../../support/postgres.ts';
import { keep, openTestStore, put, storedProvider } from '../../support/store.ts';

// The tests of all stores, each on a real one.

const postgres = usePostgres();
const ID = storedProvider().id;
const tell = (text: string, providerId = ID): StoreChange => ({
  kind: 'event',
  event: { providerId, at: Date.UTC(2026, 0, 1), kind: 'status', text },
});
const enrollment = (digest: string): StoreChange => ({
  kind: 'enrollment',
  enrollment: { digest, expiresAt: Date.UTC(2040, 0, 1) },
  nowMs: Date.UTC(2026, 0, 1),
});

/** A store, and what the next start finds in it. */
interface Subject {
  readonly store: Store;
  readonly reopened: () => Promise<StoredState>;
}

async function subject(
  open: () => Promise<Pick<OpenedStore, 'store' | 'state'>>,
): Promise<Subject> {
  const { store } = await open();
  return {
    store,
    async reopened() {
      await store.close();
      return (await open()).state;
    },
  };
}

const STORES: Readonly<Record<string, () => Promise<Subject>>> = {
  SQLite() {
    const directory = temporaryDirectory();
    return subject(() => openTestStore(directory));
  },
  async PostgreSQL() {
    const url = await postgres.database();
    return subject(() => openShared(url));
  },
};

const isLeftOut = (name: string) => name === 'PostgreSQL' && POSTGRES_SKIPPED !== null;

describe.each(Object.entries(STORES).filter(([name]) => !isLeftOut(name)))('%s', (name, open) => {
  test(`the history in ${name} comes newest first, for each provider on its own`, async () => {
    const { store } = await open();
    await keep(store, put(), put({ id: 'prv_2' }), tell('one'), tell('else', 'prv_2'), tell('two'));
    const texts = async (id: string) => (await store.events(id)).map(({ text }) => text);
    expect(await texts(ID)).toEqual(['two', 'one']);
    expect(await texts('prv_2')).toEqual(['else']);
    expect(await texts('prv_unknown')).toEqual([]);
  });

  test(`the newest 50 events of each provider are kept in ${name}, and none of a removed one`, async () => {
    const { store } = await open();
    await keep(store, put());
    const all = Array.from({ length: 130 }, (_, n) => `event ${n}`);
    await keep(store, ...all.slice(0, 60).map((text) => tell(text)));
    for (const text of all.slice(60)) void store.write([tell(text)]);
    const told = await store.events(ID);
    expect(told.map(({ text }) => text)).toEqual(all.slice(80).toReversed());
    await keep(store, put({ sequence: 2 }));
    expect(await store.events(ID)).toHaveLength(50);
    await keep(store, { kind: 'provider_removed', id: ID });
    await keep(store, tell('too late'));
    await keep(store, put());
    expect(await store.events(ID)).toEqual([]);
  });

  test(`everything written to ${name} comes back as it was`, async () => {
    const { store, reopened } = await open();
    const fresh = storedProvider({ id: 'prv_new', record: null, lastHeartbeatAt: null });
    const note = { name: 'Attic', note: 'Fan replaced.\nAsk Kim.' };
    await keep(
      store,
      put({ note }),
      { kind: 'provider', part: 'enrolled', provider: fresh },
      enrollment('ab'.repeat(32)),
    );
    const { providers, enrollments } = await reopened();
    expect(new Set(providers)).toEqual(new Set([storedProvider({ note }), fresh]));
    // Who takes a token is decided in a shared database alone.
    const tokens = [{ digest: 'ab'.repeat(32), expiresAt: Date.UTC(2040, 0, 1) }];
    expect(enrollments).toEqual(name === 'SQLite' ? tokens : []);
  });

  test(`writes to ${name} keep the order in which they were sent, however many go together`, async () => {
    const { store, reopened } = await open();
    // SQLite takes many together, PostgreSQL each on its own.
    const count = name === 'SQLite' ? 1500 : 150;
    const results = await Promise.all(
      Array.from({ length: count }, (_, n) =>
        store.write([put({ sequence: n }), put({ id: `${n % 7}`, sequence: n })]),
      ),
    );
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['written']));
    const last = Array.from({ length: 7 }, (_, i) => count - 7 + i);
    const found = (await reopened()).providers.map(({ id, sequence }) => [id, sequence]);
    const wanted = [[ID, count - 1], ...last.map((n) => [`${n % 7}`, n])];
    expect(new Set(found)).toEqual(new Set(wanted));
  });

  test(`the changes of one write to ${name} apply together or not at all, and hold no other write back`, async () => {
    const { store, reopened } = await open();
    // A number that is no integer is what the schema of the table does not take.
    const results = await Promise.all([
      store.write([put({ id: 'before' })]),
      store.write([put({ id: 'bad' }), put({ enrolledAt: 1.5 }), put({ id: 'worse' })]),
      store.write([put({ id: 'after' })]),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['written', 'unwritten', 'written']);
    expect(results[1]).toMatchObject({ message: expect.stringContaining('refused this change') });
    const ids = (await reopened()).providers.map(({ id }) => id);
    expect(new Set(ids)).toEqual(new Set(['before', 'after']));
  });

  test(`a store of ${name} writes what was sent before it was closed, and answers after`, async () => {
    const { store, reopened } = await open();
    const writes = Array.from({ length: 700 }, (_, n) => store.write([put({ sequence: n })]));
    const closed = store.close();
    const results = await Promise.all(writes);
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['written']));
    await closed;
    expect(await store.write([put()])).toMatchObject({ kind: 'unwritten' });
    expect(await store.events(ID)).toEqual([]);
    expect((await reopened()).providers).toMatchObject([{ sequence: 699 }]);
  });
});
