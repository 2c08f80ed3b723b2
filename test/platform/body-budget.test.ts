import { expect, test } from 'vitest';
import { createBodyBudget } from '../../main/platform/body-budget.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const UNKNOWN = null;

test('a large body reserves what has come and 64 KiB more, never more than was announced', () => {
  const budget = createBodyBudget(() => 16 * MEBIBYTE, 1);
  const [large, other] = [budget.share(), budget.share()];
  expect(large.hold(0, 14 * MEBIBYTE)).toBe(true);
  expect(other.hold(13 * MEBIBYTE, 14 * MEBIBYTE)).toBe(true);
  expect(large.hold(14 * MEBIBYTE, 14 * MEBIBYTE)).toBe(false);
  other.giveBack();
  expect(large.hold(14 * MEBIBYTE, 14 * MEBIBYTE)).toBe(true);
});

test('a body of unknown length is reserved as it arrives', () => {
  const budget = createBodyBudget(() => 100, 1);
  const share = budget.share();
  expect(share.hold(100, UNKNOWN)).toBe(true);
  expect(share.hold(101, UNKNOWN)).toBe(false);
});

test('an eighth of the body budget is for bodies of up to 1 MiB', () => {
  const budget = createBodyBudget(() => 16 * MEBIBYTE, 1);
  expect(budget.share().hold(14 * MEBIBYTE, UNKNOWN)).toBe(true);
  expect(budget.share().hold(0, MEBIBYTE + 1)).toBe(false);
  const small = [budget.share(), budget.share()];
  for (const share of small) expect(share.hold(MEBIBYTE, MEBIBYTE)).toBe(true);
  expect(budget.share().hold(1, 1)).toBe(false);
});

test('a body that outgrows 1 MiB counts as a large one from then on, and so do its copies', () => {
  const budget = createBodyBudget(() => 8 * MEBIBYTE, 1);
  const [growing, large] = [budget.share(), budget.share()];
  expect(growing.hold(MEBIBYTE, UNKNOWN)).toBe(true);
  expect(large.hold(6 * MEBIBYTE, UNKNOWN)).toBe(true);
  expect(growing.hold(MEBIBYTE + 1, UNKNOWN)).toBe(false);
  growing.giveBack();
  expect(large.takeCopy(MEBIBYTE + 1)).toBe(false);
  expect(large.takeCopy(MEBIBYTE)).toBe(true);
  large.giveBack();
  expect(growing.hold(7 * MEBIBYTE, UNKNOWN)).toBe(true);
  expect(large.hold(0, 2 * MEBIBYTE)).toBe(false);
});

test('the largest body that a budget takes leaves the eighth for small ones free', () => {
  expect(createBodyBudget(() => 16 * MEBIBYTE, 2).largestBytes()).toBe(7 * MEBIBYTE);
  expect(createBodyBudget(() => 20_000, 2).largestBytes()).toBe(10_000);
  expect(createBodyBudget(() => 2 * MEBIBYTE + 2, 2).largestBytes()).toBe(MEBIBYTE);
});
