import { expect, test } from 'vitest';
import type { Connection, Session } from '../../main/pool/connection.ts';
import { POOL_TIMES, type PoolChanges } from '../../main/pool/protocol.ts';
import { createOpening, createPoolReader } from '../../main/pool/change-reader.ts';
import { providerRow } from '../../main/registry/store/rows.ts';
import type { StoredState } from '../../main/registry/store/store.ts';
import { createManualClock } from '../support/clock.ts';
import { storedProvider } from '../support/store.ts';

const NOTHING: PoolChanges = {
  providers: [],
  enrollments: [],
  documents: {},
  removed: [],
  all: null,
};

/** What the database answers, in order. */
const EVERYTHING = {
  revision: 5,
  enrollments: [],
  documents: [],
  removed: [],
  all: ['prv_a'],
  providers: [
    {
      ...providerRow(storedProvider({ id: 'prv_a' })),
      generation: 0,
      fence: 0,
      revision: 5,
      is_own: false,
      is_own_report: false,
      age_ms: 0,
    },
  ],
};
const ITS_REMOVAL = {
  revision: 6,
  providers: [],
  enrollments: [],
  documents: [],
  all: null,
  removed: [{ kind: 'provider', id: 'prv_a', revision: 6 }],
};

test('two readings of the database never mix: a removal that the newer one has seen is not undone by the older', async () => {
  const answers = [EVERYTHING, ITS_REMOVAL];
  const told: string[] = [];
  const connection: Connection = {
    query: <Row>() => Promise.resolve([{ page: answers.shift() } as Row]),
    run: () => Promise.resolve(),
    lost: new Promise(() => {}),
    destroy() {},
  };
  const session: Session = { writer: connection, reader: connection, end() {} };
  const gateway = { id: 'gw_a', run: 'gw_a:1', host: '', version: '' };
  const reader = createPoolReader({
    data: { url: '', shown: '', secretDigest: '', gateway },
    clock: createManualClock(),
    session: () => session,
    onFailure: (error) => {
      throw error;
    },
    onChanges: async ({ all, providers, removed }) => {
      if (all !== null) told.push('all');
      told.push(...providers.map(({ provider }) => provider.id));
      told.push(...removed.map(({ id }) => `${id} is gone`));
      await new Promise((resolve) => setImmediate(resolve));
    },
  });
  await Promise.all([reader.begin(session), reader.refresh()]);
  expect(told).toEqual(['all', 'prv_a', 'prv_a is gone']);
});

test('a registry begins without the machines that were removed while it was read', () => {
  let state: StoredState | null = null;
  const opening = createOpening({
    clock: createManualClock(),
    times: POOL_TIMES,
    say: (opened) => {
      if (opened.kind === 'open') ({ state } = opened);
    },
    problem: () => '',
  });
  const providers = ['prv_a', 'prv_b', 'prv_c'].map((id) => ({
    provider: storedProvider({ id }),
    stamp: { generation: 0, fence: 0 },
    ageMs: null,
    isOwnReport: false,
    revision: 1,
  }));
  const enrollments = ['used', 'open'].map((digest) => ({ digest, expiresAt: 1 }));
  opening.add({ ...NOTHING, providers, enrollments, documents: { a: '1', b: '2' } });
  // After a loss of the database everything is read again.
  opening.add({ ...NOTHING, all: { ids: ['prv_b', 'prv_c', 'open', 'used'], revision: 2 } });
  opening.add({
    ...NOTHING,
    removed: [
      { kind: 'provider', id: 'prv_c', revision: 3 },
      { kind: 'enrollment', id: 'used', revision: 3 },
      { kind: 'document', id: 'a', revision: 3 },
    ],
  });
  opening.complete(null);
  expect(state).toEqual({
    providers: [storedProvider({ id: 'prv_b' })],
    enrollments: [{ digest: 'open', expiresAt: 1 }],
    documents: { b: '2' },
  });
});
