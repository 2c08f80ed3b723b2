import { expect, onTestFinished, test } from 'vitest';
import { outcomeOf, type RequestRow } from '#shared/live.ts';
import { NO_USAGE, queryOf, storedRow } from '../../../main/gateway/usage/queries.ts';
import { openFileHere } from '../../support/database.ts';
import { temporaryDirectory } from '../../support/gateway.ts';
import { attempt, request } from '../../renderer/builders.ts';

function open() {
  const { db, usage } = openFileHere(temporaryDirectory());
  onTestFinished(() => void db.close());
  return { ...usage.reads, ...usage.writes };
}

test('a stored request has the status of a failure, and no words of the upstream', () => {
  const texts = [
    ['HTTP 500: Could not tokenize: my plan', 'HTTP 500'],
    ['HTTP 400 behind a 200: мой план', 'HTTP 400 behind a 200'],
    ['connect ECONNREFUSED', 'connect ECONNREFUSED'],
    [null, null],
  ] as const;
  for (const [error, stored] of texts) {
    const queries = open();
    const row = request('req_1', { attempts: [attempt({ error })] });
    queries.add({ nowMs: 0, increments: [], rows: [storedRow(row)] });
    expect(queries.request('req_1')?.attempts.map((each) => each.error)).toEqual([stored]);
  }
});

const KINDS = [
  { state: 'failed' },
  { state: 'cancelled' },
  { fallbackReason: 'local=timeout' },
  {},
  {},
  {},
] as const;

test('the last thousand of each are kept: first choices, fallbacks, failures and cancelled requests', () => {
  const queries = open();
  const rows = Array.from({ length: 3000 }, (_, n) =>
    request(`r${n}`, { state: 'done', ...KINDS[n % KINDS.length] }),
  );
  for (let from = 0; from < rows.length; from += 500) {
    const part = rows.slice(from, from + 500).map(storedRow);
    queries.add({ nowMs: 0, increments: [], rows: part });
  }
  const wanted = { filter: 'all', by: {}, before: null, limit: 5000 } as const;
  const kept = new Set(queries.requests(wanted).data.map(({ id }) => id));
  const isFirst = (row: RequestRow) => outcomeOf(row) === 'first-choice';
  const firsts = rows.filter(isFirst);
  expect(firsts).toHaveLength(1500);
  expect(kept).toEqual(
    new Set(rows.filter((row) => !isFirst(row) || firsts.indexOf(row) >= 500).map(({ id }) => id)),
  );
});

const NOW = Date.UTC(2026, 5, 10, 12, 30);
const DAY_MS = 24 * 3_600_000;
const YEAR_MS = 365 * DAY_MS;

test('a clock that is ten years ahead for a day neither deletes usage nor changes earlier days', () => {
  const queries = open();
  const writeAt = (at: number, name: string) => {
    const all = { at, upstream: '', provider: '', model: '', key: '' };
    const increments = [
      { place: all, figures: { ...NO_USAGE, calls: 1 } },
      { place: { ...all, upstream: 'hosted_a' }, figures: { ...NO_USAGE, spentNano: 5 } },
    ];
    const row = request(name, { model: name, startedAt: at, endMs: 0 });
    queries.add({ nowMs: at, rows: [storedRow(row)], increments });
  };
  writeAt(NOW - DAY_MS, 'yesterday');
  writeAt(NOW, 'today');
  queries.add({ nowMs: NOW + 10 * YEAR_MS, rows: [], increments: [] });
  writeAt(NOW + 10 * YEAR_MS, 'ahead');
  queries.add({ nowMs: NOW, rows: [], increments: [] });
  expect(queries.earlier().before.spent).toHaveLength(3);
  const { today, thisMonth, points } = queries.history(queryOf('day', NOW));
  expect([today.calls, thisMonth.calls]).toEqual([1, 2]);
  expect(points.map(({ at }) => at)).toEqual([NOW]);
  expect(queries.requestedModels(NOW).map(({ name }) => name)).toEqual(['today', 'yesterday']);
});

test('usage that is too old is deleted once the day after it is stored too', () => {
  const queries = open();
  const writeAt = (at: number) => {
    const place = { at, upstream: '', provider: '', model: '', key: '' };
    const figures = { ...NO_USAGE, calls: 1 };
    queries.add({ nowMs: at, rows: [], increments: [{ place, figures }] });
    return queries.history({ ...queryOf('month', at), from: 0 }).points.length;
  };
  const days = [NOW - 3 * YEAR_MS, NOW - DAY_MS, NOW].map(writeAt);
  expect(days).toEqual([1, 2, 2]);
});
