import { expect, test } from 'vitest';
import { createReadingRates } from '../../../main/gateway/routing/reading-rates.ts';

const M = 'm';

test('a reading rate is unknown until a prompt was read, and then what it took', () => {
  const rates = createReadingRates();
  expect(rates.tokensPerSecond('a', M)).toBeNull();
  rates.record('a', M, 3000, 1500);
  expect(rates.tokensPerSecond('a', M)).toBeCloseTo(2000);
});

test('a reading rate is that of one model at one upstream', () => {
  const rates = createReadingRates();
  rates.record('a', M, 1000, 1000);
  rates.record('a', 'n', 1000, 500);
  expect([rates.tokensPerSecond('a', M), rates.tokensPerSecond('a', 'n')]).toEqual([1000, 2000]);
  expect(rates.tokensPerSecond('b', M)).toBeNull();
});

test.each([
  ['too short to tell', 199, 1000],
  ['in no time, as under a clock that stands still', 5000, 0],
  ['of no length', NaN, 1000],
])('a reading %s teaches nothing', (_what, tokens, ms) => {
  const rates = createReadingRates();
  rates.record('a', M, tokens, ms);
  expect(rates.tokensPerSecond('a', M)).toBeNull();
});

test('long readings count by their length, and old ones fade', () => {
  const rates = createReadingRates();
  rates.record('a', M, 20_000, 20_000);
  rates.record('a', M, 200, 2000);
  expect(rates.tokensPerSecond('a', M)).toBeGreaterThan(900);
  for (let n = 0; n < 5; n += 1) rates.record('a', M, 20_000, 5000);
  expect(rates.tokensPerSecond('a', M)).toBeGreaterThan(3600);
});

test('a reading rate is forgotten with its upstream', () => {
  const rates = createReadingRates();
  rates.record('a', M, 1000, 1000);
  rates.forget('a');
  expect(rates.tokensPerSecond('a', M)).toBeNull();
});

test('only the models that were read last are known', () => {
  const rates = createReadingRates();
  for (let n = 0; n < 100; n += 1) rates.record('a', String(n), 1000, 1000);
  expect(rates.tokensPerSecond('a', '0')).toBeNull();
  expect(rates.tokensPerSecond('a', '99')).toBe(1000);
});
