import { describe, expect, test } from 'vitest';
import { openShared } from '../support/pool.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';
import { document, keep, put } from '../support/store.ts';

const postgres = usePostgres();

const MANY = 2000;
const AT_ONCE = 500;
/** What a gateway's thread takes before it goes on to requests. */
const MOST = { machines: 125, answers: 50 };

/** Counts what happens between two turns of the event loop. */
function countTurns() {
  const count = { all: 0, most: 0 };
  let now = 0;
  return {
    count,
    note: (some: number): void => {
      if (now === 0)
        setImmediate(() => {
          count.most = Math.max(count.most, now);
          now = 0;
        });
      now += some;
      count.all += some;
    },
  };
}

describe.runIf(POSTGRES_SKIPPED === null)('a gateway with much to catch up', () => {
  test('a gateway reads many changes of others a piece at a time, and answers requests in between', async () => {
    const url = await postgres.database();
    const [reader, writer] = [await openShared(url, 'gw_a'), await openShared(url, 'gw_b')];
    const { count, note } = countTurns();
    reader.pool.onChanges(({ providers }) => note(providers.length));
    await keep(writer.store, ...Array.from({ length: MANY }, (_, n) => put({ id: `prv_${n}` })));
    await expect.poll(() => count.all).toBe(MANY);
    await new Promise((resolve) => setImmediate(resolve));
    expect(count.most).toBeLessThanOrEqual(MOST.machines);
  });

  test('a gateway writes changes of the same moment in a few commits of one statement each', async () => {
    const url = await postgres.database();
    const { store } = await openShared(url);
    const commits = async () => {
      const asked = 'SELECT revision::int AS revision FROM inglenook.pool';
      const [row] = await postgres.query<{ readonly revision: number }>(url, asked);
      return row?.revision ?? 0;
    };
    const before = await commits();
    const changes = Array.from({ length: AT_ONCE }, (_, n) => put({ id: `prv_${n}` }));
    const results = await Promise.all(changes.map((change) => store.write([change])));
    expect(results.every(({ kind }) => kind === 'written')).toBe(true);
    expect((await commits()) - before).toBeLessThanOrEqual(AT_ONCE / 50);
  });

  test('a gateway answers writers that waited for the database a few at a time, in order', async () => {
    const { store } = await openShared(await postgres.database());
    const { count, note } = countTurns();
    const order: number[] = [];
    const write = async (n: number) => {
      const { kind } = await store.write([document('n', `${n}`)]);
      order.push(n);
      note(1);
      return kind;
    };
    const kinds = await Promise.all(Array.from({ length: MANY }, (_, n) => write(n)));
    await new Promise((resolve) => setImmediate(resolve));
    expect([...new Set(kinds)]).toEqual(['written']);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(count.most).toBeLessThanOrEqual(MOST.answers);
  });
});
