import * as rows from './request-builders.ts';
import { expect, test } from 'vitest';
import { matchesFilter } from '#shared/request-filter.ts';
import { browserName } from '../../renderer/features/about/browsers.tsx';
import { neighboursOf } from '../../renderer/features/requests/open-request.tsx';
import { holdRows } from '../../renderer/features/requests/request-list.tsx';
import { segmentsOf } from '../../renderer/features/requests/waterfall-model.ts';
import { hashOf, routeOf } from '../../renderer/route.ts';
import { rowAfterKey } from '../../renderer/ui/use-row-focus.ts';
import { attempt, NOW, request } from './builders.ts';

const at = (id: string, seconds: number) => request(id, { startedAt: NOW + seconds * 1_000 });

test('held rows keep their order and number, are brought up to date, and the new ones are counted', () => {
  const running = request('b', { startedAt: NOW, state: 'running', endMs: null });
  const standing = [running, at('a', -1)];
  const done = { ...running, state: 'done' as const };
  const held = holdRows(standing, [at('d', 2), at('c', 1), done]);
  expect(held.shown.map(({ id, state }) => `${id} ${state}`)).toEqual(['b done', 'a done']);
  expect(held.waiting).toBe(2);
});

test('rows that did not change are the same list', () => {
  const standing = [at('b', 0), at('a', -1)];
  expect(holdRows(standing, standing).shown).toBe(standing);
});

test('each ended request is under one filter beside All, a resumed one under Fell back', () => {
  const filters = ['first-choice', 'fell-back', 'failed'] as const;
  const under = (row: ReturnType<typeof request>) =>
    filters.filter((name) => matchesFilter(row, name));
  expect(under(request('a'))).toEqual(['first-choice']);
  expect(under(request('a', { fallbackReason: 'local=unreachable' }))).toEqual(['fell-back']);
  expect(under(rows.handedOver())).toEqual(['fell-back']);
  expect(under(rows.sixteen())).toEqual(['failed']);
  expect(under(request('a', { state: 'cancelled' }))).toEqual([]);
});

test('requests are found by upstream, machine, model, reason and words', () => {
  const row = rows.predicted();
  expect(matchesFilter(row, 'all', { machine: 'prv_aaaa1111', reason: 'outrun' })).toBe(true);
  expect(matchesFilter(row, 'all', { upstream: 'local', model: 'qwen3', text: 'PREDICT' })).toBe(
    true,
  );
  expect(matchesFilter(row, 'all', { upstream: 'hosted_a' })).toBe(false);
});

test('a request and its filter survive in the address', () => {
  const route = {
    page: 'requests',
    filter: 'failed',
    by: { model: 'org/a model', upstream: 'local' },
    request: 'req_1f0c',
  } as const;
  expect(routeOf(hashOf(route))).toEqual(route);
});

test('while rows are held, older ones come behind them, and nothing comes in between', () => {
  const standing = [at('f', 5), at('d', 3)];
  const held = holdRows(standing, [at('g', 6), ...standing, at('e', 4), at('b', 1), at('a', 0)]);
  expect(held.shown.map(({ id }) => id)).toEqual(['f', 'd', 'b', 'a']);
  expect(held.waiting).toBe(1);
});

test('a request stands between its neighbours, also where the list does not hold it', () => {
  const list = [at('c', 3), at('b', 2), at('a', 0)];
  const around = (id: string, seconds: number | null) =>
    neighboursOf(list, seconds === null ? null : NOW + seconds * 1_000, id);
  expect(around('b', 2)).toEqual({ newer: 'c', older: 'a' });
  expect(around('elsewhere', 1)).toEqual({ newer: 'b', older: 'a' });
  expect(around('newest', 4)).toEqual({ newer: null, older: 'c' });
  expect(around('oldest', -1)).toEqual({ newer: 'a', older: null });
  expect(around('unknown', null)).toEqual({ newer: null, older: null });
});

test('keys stay within the list', () => {
  expect(rowAfterKey('ArrowUp', 0, 5)).toBe(0);
  expect(rowAfterKey('PageDown', 2, 5)).toBe(4);
  expect(rowAfterKey('End', 0, 0)).toBe(null);
  expect(rowAfterKey('x', 2, 5)).toBe(null);
});

test('an answer that stalled and was given up is green, then silent, then at an end', () => {
  const stalled = attempt({
    firstContentMs: 400,
    lastContentMs: 900,
    endMs: 8_900,
    reason: 'bad_response',
  });
  const row = request('a', { state: 'broken', attempts: [stalled], endMs: 8_900 });
  expect(segmentsOf(row, 8_900).map(({ kind }) => kind)).toEqual([
    'waiting',
    'answering',
    'stalled',
  ]);
});

test('a browser has a name that tells it apart', () => {
  const edge =
    'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0';
  expect(browserName(edge)).toBe('Edge on Windows');
});
