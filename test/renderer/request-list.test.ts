import { expect, test } from 'vitest';
import type { RequestRow } from '#shared/live.ts';
import { countsOf, facetsOf, matchesFilter } from '#shared/request-filter.ts';
import { pageOf } from '../../main/gateway/usage/queries.ts';
import { REQUESTS_PER_PAGE } from '../../renderer/api/requests.ts';
import {
  allCounts,
  type KeptRequests,
  NOTHING_READ,
  together,
  withNewest,
  withOlder,
} from '../../renderer/features/requests/kept-requests.ts';
import { neighboursOf } from '../../renderer/features/requests/open-request.tsx';
import { holdRows } from '../../renderer/features/requests/request-list.tsx';
import { hashOf, routeOf } from '../../renderer/route.ts';
import { NOW, request } from './builders.ts';
import { handedOver, hedgedMachine, sixteen } from './request-builders.ts';

const at = (id: string, seconds: number) => request(id, { startedAt: NOW + seconds * 1_000 });

test('held rows of the list keep their order and number and are updated, and new requests are counted', () => {
  const running = request('b', { startedAt: NOW, state: 'running', endMs: null });
  const standing = [running, at('a', -1)];
  const done = { ...running, state: 'done' as const };
  const held = holdRows(standing, [at('d', 2), at('c', 1), done]);
  expect(held.shown.map(({ id, state }) => `${id} ${state}`)).toEqual(['b done', 'a done']);
  expect(held.waiting).toBe(2);
});

test('each ended request is under one filter besides All, and a continued one under By a fallback', () => {
  const filters = ['first-choice', 'fell-back', 'failed'] as const;
  const under = (row: ReturnType<typeof request>) =>
    filters.filter((name) => matchesFilter(row, name));
  expect(under(request('a'))).toEqual(['first-choice']);
  expect(under(request('a', { fallbackReason: 'local=unreachable' }))).toEqual(['fell-back']);
  expect(under(handedOver())).toEqual(['fell-back']);
  expect(under(sixteen())).toEqual(['failed']);
  expect(under(request('a', { state: 'cancelled' }))).toEqual([]);
});

test('requests are found by upstream, machine, model, reason and words', () => {
  const row = hedgedMachine();
  expect(matchesFilter(row, 'all', { machine: 'prv_aaaa1111', reason: 'outrun' })).toBe(true);
  const isFound = matchesFilter(row, 'all', { upstream: 'local', model: 'qwen3', text: 'HEDGED' });
  expect(isFound).toBe(true);
  expect(matchesFilter(row, 'all', { upstream: 'hosted_a' })).toBe(false);
});

test('a request and its filter are kept in the address', () => {
  const route = {
    page: 'requests',
    filter: 'failed',
    by: { model: 'org/a model', upstream: 'local' },
    request: 'req_1f0c',
  } as const;
  expect(routeOf(hashOf(route))).toEqual(route);
});

test('a request has its neighbours even if the list does not hold it', () => {
  const list = [at('c', 3), at('b', 2), at('a', 0)];
  const around = (id: string, seconds: number | null) =>
    neighboursOf(list, seconds === null ? null : NOW + seconds * 1_000, id);
  expect(around('b', 2)).toEqual({ newer: 'c', older: 'a' });
  expect(around('elsewhere', 1)).toEqual({ newer: 'b', older: 'a' });
  expect(around('newest', 4)).toEqual({ newer: null, older: 'c' });
  expect(around('oldest', -1)).toEqual({ newer: 'a', older: null });
  expect(around('unknown', null)).toEqual({ newer: null, older: null });
});

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

test('the list reads page by page all requests that are kept, each once', () => {
  const rows = rowsTo(549);
  let kept = readNewest(NOTHING_READ, rows);
  expect([kept.rows.length, kept.isComplete]).toEqual([200, false]);
  while (!kept.isComplete) kept = readOlder(kept, rows);
  expect(idsOf(kept)).toEqual(rows.map(({ id }) => id));
});

test('pages of requests have no gap between those that began at the same time', () => {
  const rows = rowsTo(300).map((row) => ({ ...row, startedAt: NOW + (row.startedAt - NOW) / 100 }));
  const whole = rows.map((row) => ({ ...row, startedAt: Math.floor(row.startedAt) }));
  const kept = readOlder(readNewest(NOTHING_READ, whole), whole);
  expect(new Set(idsOf(kept)).size).toBe(301);
});

test('the newest requests, read again, are merged with the earlier ones, and rows stay the same objects', () => {
  const rows = rowsTo(449);
  const before = readOlder(readNewest(NOTHING_READ, rows), rows);
  const after = readNewest(before, rowsTo(499));
  expect(idsOf(after)).toEqual(rowsTo(499, 51).map(({ id }) => id));
  expect(after.rows[60]).toBe(before.rows[10]);
});

test('the list begins again, rather than with a gap, if more requests came than a page holds', () => {
  const before = readNewest(NOTHING_READ, rowsTo(449));
  const after = readNewest(before, rowsTo(949));
  expect(idsOf(after)).toEqual(rowsTo(949, 750).map(({ id }) => id));
  expect(after.isComplete).toBe(false);
});

test('an hour of requests leaves no more in the page than the gateway keeps', () => {
  let kept = NOTHING_READ;
  for (let last = 199; last < 4_000; last += 150)
    kept = readNewest(kept, rowsTo(last, Math.max(0, last - 500)));
  expect(kept.rows.length).toBeLessThanOrEqual(4_200);
});

test('the counts include all requests that are kept, and those of the feed as they are now', () => {
  const rows = rowsTo(299);
  const kept = readNewest(NOTHING_READ, rows);
  const feed = [request('new', { startedAt: NOW + 500 }), ...rows.slice(0, 100)];
  expect(allCounts(countsOf(feed, {}), kept).all).toBe(301);
  expect(together(feed, kept.rows)).toHaveLength(201);
});

test('no facet offers a source that is not set up', () => {
  const fallbackReason = 'local=unreachable; hosted_b=not_configured';
  const facets = facetsOf([request('a', { fallbackReason, attempts: [] })], 'all', {});
  expect([facets.upstream, facets.reason]).toEqual([['local'], ['unreachable']]);
});

test('a facet with a chosen value still offers its other values', () => {
  const rows = [request('a', { model: 'qwen3' }), request('b', { model: 'llama' })];
  expect(facetsOf(rows, 'all', { model: 'qwen3' }).model).toEqual(['llama', 'qwen3']);
});
