import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  firstContentAt,
  NEW_BREAKER,
  record,
  UNUSED,
  withSample,
} from '../../../main/gateway/circuits/breaker.ts';

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

test('a success ends a row of failures and keeps their count', () => {
  const limits = {
    failThreshold: 9,
    cooldownMs: 60_000,
    ttftThresholdMs: 5000,
    ttftSlowThreshold: 9,
  };
  const failure = (error: string) => ({ kind: 'failure', error, silentMs: 0, costMs: 0 }) as const;
  const { health } = [failure('x'), failure('y'), { kind: 'success' } as const].reduce(
    (breaker, result, at) => {
      const now = { ticks: at, wallMs: at + 1 };
      return record(breaker, { serial: 0 }, result, { now, limits, random: 0 });
    },
    NEW_BREAKER,
  );
  expect(health).toMatchObject({ fails: 2, successes: 1, consecutiveFails: 0, lastError: 'y' });
  expect(health).toMatchObject({ lastFailAt: 2, lastSuccessAt: 3 });
});

test.each([
  [5000, 0],
  [5001, 1],
])('a first content after %d ms at a threshold of 5000 counts as %d slow', (ttftMs, slow) => {
  expect(firstContentAt(UNUSED, ttftMs, 0, 5000).consecutiveSlow).toBe(slow);
});

test('one fast first content ends a row of slow ones', () => {
  const slow = firstContentAt(firstContentAt(UNUSED, 9000, 0, 5000), 9000, 1, 5000);
  expect(slow.consecutiveSlow).toBe(2);
  expect(firstContentAt(slow, 10, 2, 5000)).toMatchObject({ consecutiveSlow: 0, lastTtftMs: 10 });
});
