import { expect, test } from 'vitest';
import { growsFaster, levelCost, risingCost } from '../../bench/growth.ts';
import { medianInterval } from '../../bench/kit/numbers.ts';
import { bound as boundOf, conclusionOf, spreadText, verdict } from '../../bench/report.ts';

const bound = (measured: number, aim: number | null = 1) => boundOf('cost', '×', measured, 2, aim);

test('a missed aim is reported and no fault, and a broken or unmeasured bound is one', () => {
  expect([0.9, 1.5, 2.1, Number.NaN].map((measured) => verdict(bound(measured)))).toEqual([
    'aim met',
    'aim missed',
    'BROKEN',
    'BROKEN',
  ]);
  expect(verdict(bound(1.5, null))).toBe('met');
  expect(conclusionOf([bound(0.9), bound(1.5)]).code).toBe(0);
  expect(conclusionOf([bound(0.9), bound(2.1)])).toEqual({
    text: '2 bounds: 1 broken; 0 aims missed, 1 met.',
    code: 1,
  });
});

test('the spread of a figure is its median and its quartiles', () => {
  expect(spreadText([5, 1, 3, 2, 4, 100, 0])).toBe('3.00 (1.00–5.00)');
  expect(spreadText([])).toBe('–');
});

test('a median lies between the least and the greatest of six values, and between the second and the eighth of nine', () => {
  expect(medianInterval([6, 1, 4, 2, 5, 3])).toEqual([1, 6]);
  expect(medianInterval([9, 8, 7, 6, 5, 4, 3, 2, 1])).toEqual([2, 8]);
  expect(medianInterval([1, 2, 3])).toEqual([Number.NaN, Number.NaN]);
});

const SIZES = [1, 10, 100, 1000, 10_000];
const rising = (cost: (size: number) => number, noise = 0) =>
  growsFaster(risingCost(SIZES, SIZES.map(cost), noise));

test('cost in proportion to its work does not grow faster than it, whatever doing nothing costs', () => {
  expect(rising((n) => 3 * n)).toBe(false);
  expect(rising((n) => 500 + 3 * n)).toBe(false);
  expect(rising((n) => n * Math.log2(n + 1))).toBe(false);
  expect(growsFaster(levelCost([900, 30, 20, 21]))).toBe(false);
});

test('cost that rises with the square of its work is found, and so is a unit that gets more expensive', () => {
  expect(rising((n) => n * n)).toBe(true);
  expect(growsFaster(levelCost([20, 20, 50]))).toBe(true);
});

test('a rise in cost that is no more than noise does not count', () => {
  expect(rising((n) => (n === 10_000 ? 30 : 20), 16)).toBe(false);
  expect(rising((n) => (n === 10_000 ? 30 : n / 1000), 16)).toBe(false);
});
