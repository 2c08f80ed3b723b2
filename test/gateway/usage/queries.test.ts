import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { RequestRow } from '#shared/live.ts';
import { openUsageDatabase } from '../../../main/gateway/usage/database.ts';
import { createUsageQueries } from '../../../main/gateway/usage/queries.ts';
import { temporaryDirectory } from '../../support/gateway.ts';
import { request } from '../../renderer/builders.ts';

function open() {
  const opened = openUsageDatabase(join(temporaryDirectory(), 'usage.db'), 0);
  if (opened.kind === 'unusable') throw new Error(opened.message);
  onTestFinished(() => void opened.db.close());
  return createUsageQueries(opened.db);
}

const ids = (rows: readonly string[]) => rows.map((row) => (JSON.parse(row) as RequestRow).id);

test('the last thousand that were answered are kept, and the last thousand of all others', () => {
  const queries = open();
  const rows = Array.from({ length: 3000 }, (_, n) =>
    request(`r${n}`, { state: n % 5 === 0 ? 'failed' : 'done' }),
  );
  for (let from = 0; from < rows.length; from += 500) {
    queries.write({ nowMs: 0, increments: [], rows: rows.slice(from, from + 500) });
  }
  const kept = new Set(ids(queries.rows(5000)));
  const failed = rows.filter(({ state }) => state === 'failed');
  const done = rows.filter(({ state }) => state === 'done');
  expect(failed).toHaveLength(600);
  expect([...kept].toSorted()).toEqual(
    [...failed, ...done.slice(-1000)].map(({ id }) => id).toSorted(),
  );
});
