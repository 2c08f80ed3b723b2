import { expect, test } from 'vitest';
import type { RequestRow } from '#shared/live.ts';
import { countsOf, facetsOf } from '#shared/request-filter.ts';
import { REQUESTS_PER_PAGE } from '../../renderer/api/requests.ts';
import {
  allCounts,
  type KeptRequests,
  NOTHING_READ,
  together,
  withNewest,
  withOlder,
} from '../../renderer/features/requests/kept-requests.ts';
import { pageOf } from '../../main/gateway/usage/queries.ts';
import { NOW, request } from './builders.ts';

/** Requests from one number up to another, newest first, all of them kept. */
function rowsTo(last: number, first = 0): readonly RequestRow[] {
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => last - index);
  return numbers.map((n) => request(`r${n}`, { startedAt: NOW + n }));
}

const page = (rows: readonly RequestRow[], before: number | null = null) =>
  pageOf(rows, { filter: 'all', by: {}, before, limit: REQUESTS_PER_PAGE });

const readNewest = (kept: KeptRequests, rows: readonly RequestRow[]) =>
  withNewest(kept, page(rows), rows.slice(0, 100), {});

function readOlder(kept: KeptRequests, rows: readonly RequestRow[]) {
  return withOlder(kept, page(rows, kept.rows.at(-1)?.startedAt ?? null));
}

const idsOf = ({ rows }: KeptRequests) => rows.map(({ id }) => id);

test('page by page all that is kept is read, each request once', () => {
  const rows = rowsTo(549);
  let kept = readNewest(NOTHING_READ, rows);
  expect([kept.rows.length, kept.isComplete]).toEqual([200, false]);
  while (!kept.isComplete) kept = readOlder(kept, rows);
  expect(idsOf(kept)).toEqual(rows.map(({ id }) => id));
});

test('pages have no gap between requests that began at the same time', () => {
  const rows = rowsTo(300).map((row) => ({ ...row, startedAt: NOW + (row.startedAt - NOW) / 100 }));
  const whole = rows.map((row) => ({ ...row, startedAt: Math.floor(row.startedAt) }));
  const kept = readOlder(readNewest(NOTHING_READ, whole), whole);
  expect(new Set(idsOf(kept)).size).toBe(301);
});

test('the newest, read again, join up with what was read before, and rows stay the same objects', () => {
  const rows = rowsTo(449);
  const before = readOlder(readNewest(NOTHING_READ, rows), rows);
  const after = readNewest(before, rowsTo(499));
  expect(idsOf(after)).toEqual(rowsTo(499, 51).map(({ id }) => id));
  expect(after.rows[60]).toBe(before.rows[10]);
});

test('where more came than a page holds, the list begins anew rather than with a gap', () => {
  const before = readNewest(NOTHING_READ, rowsTo(449));
  const after = readNewest(before, rowsTo(949));
  expect(idsOf(after)).toEqual(rowsTo(949, 750).map(({ id }) => id));
  expect(after.isComplete).toBe(false);
});

test('an hour of requests leaves no more in the page than the gateway keeps', () => {
  let kept = NOTHING_READ;
  for (let last = 199; last < 4_000; last += 150) {
    kept = readNewest(kept, rowsTo(last, Math.max(0, last - 500)));
  }
  expect(kept.rows.length).toBeLessThanOrEqual(2_200);
});

test('the counts are of all that is kept, those of the feed counted as they are now', () => {
  const rows = rowsTo(299);
  const kept = readNewest(NOTHING_READ, rows);
  const feed = [request('new', { startedAt: NOW + 500 }), ...rows.slice(0, 100)];
  expect(allCounts(countsOf(feed, {}), kept).all).toBe(301);
  expect(together(feed, kept.rows)).toHaveLength(201);
});

test('a facet that is chosen still offers its other values', () => {
  const rows = [request('a', { model: 'qwen3' }), request('b', { model: 'llama' })];
  expect(facetsOf(rows, 'all', { model: 'qwen3' }).model).toEqual(['llama', 'qwen3']);
});
