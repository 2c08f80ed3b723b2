import { expect, test } from 'vitest';
import { compareParsers } from '../../fuzz/compare.ts';

test('the parser sees what llhttp sees in 10,000 responses, most of them damaged, or refuses them', () => {
  const { difference, whole } = compareParsers(10_000, 12);
  expect(difference).toBeNull();
  // Enough are sound for the rest to mean anything.
  expect(whole).toBeGreaterThan(3000);
});
