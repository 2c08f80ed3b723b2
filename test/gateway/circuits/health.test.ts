import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { withSample } from '../../../main/gateway/circuits/breaker.ts';

const MINUTE_MS = 60_000;

test('the first sample is the mean of first contents', () => {
  expect(withSample(null, 120, 0).value).toBe(120);
});

test('the weight of a sample in the mean halves after a minute', () => {
  const mean = withSample(withSample(null, 100, 0), 400, MINUTE_MS);
  expect(mean.value).toBeCloseTo((100 * 0.5 + 400) / 1.5);
});

test('the mean lies between the smallest and the largest sample, whatever the times', () => {
  const samples = fc.array(fc.tuple(fc.nat(60_000), fc.nat(600_000)), {
    minLength: 1,
    maxLength: 30,
  });
  fc.assert(
    fc.property(samples, (taken) => {
      const values = taken.map(([value]) => value);
      let now = 0;
      let mean = null;
      for (const [value, later] of taken) mean = withSample(mean, value, (now += later));
      expect(mean?.value).toBeGreaterThanOrEqual(Math.min(...values) - 1e-6);
      expect(mean?.value).toBeLessThanOrEqual(Math.max(...values) + 1e-6);
    }),
  );
});

test('a clock that ran backwards gives a sample no more weight than a sample of now', () => {
  expect(withSample(withSample(null, 100, 1000), 200, 0).value).toBe(150);
});
