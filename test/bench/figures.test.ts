import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { axisText, picture, roundedUp } from '../../bench/draw.ts';
import { performancePage, performancePictures } from '../../bench/figures.ts';

const DOCS = join(import.meta.dirname, '../../docs');

test('docs/understand/performance.md and its pictures are what `npm run figures` makes of the results', async () => {
  expect(readFileSync(join(DOCS, 'understand/performance.md'), 'utf8')).toBe(
    await performancePage(),
  );
  const pictures = performancePictures();
  const there = Object.keys(pictures).map((path) => [path, readFileSync(join(DOCS, path), 'utf8')]);
  expect(Object.fromEntries(there)).toEqual(pictures);
});

test('an axis ends at a number that is easily halved, and its labels are short', () => {
  expect([0, 0.03, 1, 4.2, 61, 1010].map(roundedUp)).toEqual([1, 0.04, 1, 6, 80, 2000]);
  expect([0.5, 12, 1000, 2500, 20_000_000].map(axisText)).toEqual([
    '0.5',
    '12',
    '1k',
    '2.5k',
    '20M',
  ]);
});

test('each tenfold size moves a curve equally far to the right, and no cost leaves its panel', () => {
  const points = [1, 10, 100].map((size) => [size, size * 3] as const);
  const svg = picture([{ title: 'cost', lines: [{ name: 'gateway', points }] }], 'size', 'light');
  const dots = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => [
    Number(x),
    Number(y),
  ]);
  const [first = [], second = [], third = []] = dots;
  expect((second[0] ?? 0) - (first[0] ?? 0)).toBeCloseTo((third[0] ?? 0) - (second[0] ?? 0), 0);
  for (const [, y = 0] of dots) {
    expect(y).toBeGreaterThanOrEqual(42);
    expect(y).toBeLessThanOrEqual(170);
  }
});
