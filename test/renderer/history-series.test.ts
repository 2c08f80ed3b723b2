import { expect, test } from 'vitest';
import type { HistoryReport, UsageFigures } from '#shared/usage.ts';
import { NO_USAGE } from '../../main/gateway/usage/tally.ts';
import {
  machineSeries,
  rowTextAt,
  SERIES_MEASURES,
  seriesRows,
  upstreamSeries,
} from '../../renderer/features/history/series-charts.tsx';

const FROM = Date.UTC(2026, 5, 10, 11, 0);
const MINUTE_MS = 60_000;

const figures = (calls: number, firstTokenMs: number): UsageFigures => ({
  ...NO_USAGE,
  calls,
  inputTokens: 100,
  outputTokens: 20,
  firstTokenMs,
  firstTokens: calls,
});

const point = (step: number, upstreams: HistoryReport['points'][number]['upstreams']) => ({
  at: FROM + step * MINUTE_MS,
  figures: NO_USAGE,
  upstreams,
});

const report: HistoryReport = {
  range: 'hour',
  from: FROM,
  to: FROM + 60 * MINUTE_MS,
  stepMs: MINUTE_MS,
  points: [
    point(2, { hosted_a: figures(2, 1000), local: figures(8, 800) }),
    point(5, { local: figures(2, 3200) }),
  ],
  models: [],
  machines: [
    { provider: 'prv_0123456789abcdef', points: [{ at: FROM, figures: figures(1, 10) }] },
    { provider: 'prv_fedcba9876543210', points: [{ at: FROM, figures: figures(1, 10) }] },
    { provider: null, points: [{ at: FROM, figures: figures(4, 10) }] },
  ],
  names: { prv_0123456789abcdef: 'Attic' },
  parts: [],
  keys: [],
  today: NO_USAGE,
  thisMonth: NO_USAGE,
  currency: 'EUR',
  problem: null,
};

const rowsOf = (id: string) =>
  SERIES_MEASURES.filter((measure) => measure.id === id).flatMap((measure) =>
    seriesRows(
      report,
      upstreamSeries(report, (upstream) => `Name of ${upstream}`),
      measure,
    ).map((row) => ({ ...row, at: (step: number) => rowTextAt(report, row, step, measure) })),
  );

test('each upstream that was called has its bars in the history, and all are on one scale', () => {
  const [local, hosted] = rowsOf('calls');
  expect([local?.name, hosted?.name]).toEqual(['Name of local', 'Name of hosted_a']);
  expect(local?.bars.map(({ height }) => height)).toEqual([1, 0.25]);
  expect(hosted?.bars.map(({ height, x }) => [height, x])).toEqual([[0.25, 2 / 60]]);
  expect(rowsOf('tokens').map(({ total }) => total)).toEqual(['240', '120']);
});

test('the TTFT in the history is a mean over the calls, of a step and of the range', () => {
  const [local] = rowsOf('first');
  expect([local?.total, local?.at(2), local?.at(5), local?.at(3)]).toEqual([
    '400 ms',
    '100 ms',
    '1.6 s',
    '–',
  ]);
});

test('a row of the history has the text of what its bars show', () => {
  const [local] = rowsOf('calls');
  expect(local?.label).toMatch(/^Name of local: 10; highest 8 at \d\d:02$/);
});

test('a machine in the history has its name or the digits of its id, and all but the busiest share a name', () => {
  expect(machineSeries(report).map(({ name }) => name)).toEqual([
    'Attic',
    'machine fedcba98',
    'All other machines',
  ]);
});

test('two machines of one name are told apart in the history', () => {
  const names = { prv_0123456789abcdef: 'gpu', prv_fedcba9876543210: 'gpu' };
  expect(machineSeries({ ...report, names }).map(({ name }) => name)).toEqual([
    'gpu (01234567)',
    'gpu (fedcba98)',
    'All other machines',
  ]);
});
