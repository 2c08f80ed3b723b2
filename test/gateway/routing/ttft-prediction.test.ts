import { describe, expect, test } from 'vitest';
import {
  type FirstToken,
  hungAfterMs,
  NO_PREDICTION_YET,
  predict,
  predictedSlow,
  type Prediction,
  slowTtftMs,
  withFirstToken,
} from '../../../main/gateway/routing/predictions.ts';
import { firstTokens, learned, type LinearMachine } from '../../support/machine.ts';

const EXACT: LinearMachine = { overheadMs: 100, msPerByte: 0.05, noiseMs: 0 };
const NOISY: LinearMachine = { ...EXACT, noiseMs: 50 };

const alike = (count: number, token: FirstToken) => Array.from({ length: count }, () => token);

function predicted(tokens: readonly FirstToken[], promptBytes: number): Prediction {
  const prediction = predict(learned(tokens), promptBytes);
  if (prediction === null) throw new Error('nothing predicted');
  return prediction;
}

describe('a prediction', () => {
  test('a prediction takes 20 samples of TTFT and is not made of 19', () => {
    const tokens = firstTokens(EXACT, 20, 1);
    expect(predict(NO_PREDICTION_YET, 1000)).toBeNull();
    expect(predict(learned(tokens.slice(0, 19)), 1000)).toBeNull();
    expect(predict(learned(tokens), 1000)).not.toBeNull();
  });

  test('a prediction for a machine without noise is exact: its rate times the length of the prompt', () => {
    const { ttftMs, earliestMs, prefillMs } = predicted(firstTokens(EXACT, 40, 1), 200_000);
    expect(ttftMs).toBeCloseTo(10_100, 3);
    expect(prefillMs).toBeCloseTo(10_000, 3);
    expect(earliestMs).toBeCloseTo(10_100, 3);
  });

  test('a predicted earliest TTFT is below the expected one by what predictions missed', () => {
    const { ttftMs, earliestMs } = predicted(firstTokens(NOISY, 200, 1), 50_000);
    // Noise from -50 to 50 misses by 25 in the mean.
    expect(ttftMs - earliestMs).toBeGreaterThan(35);
    expect(ttftMs - earliestMs).toBeLessThan(75);
  });

  test('a prediction is surer for prompts like the samples than for others', () => {
    const tokens = firstTokens(NOISY, 50, 1);
    const doubtMs = (promptBytes: number) => {
      const { ttftMs, earliestMs } = predicted(tokens, promptBytes);
      return ttftMs - earliestMs;
    };
    expect(doubtMs(1_000_000)).toBeGreaterThan(2 * doubtMs(50_000));
  });

  test('a prediction for a machine that ignores the length is level, with no part for the prompt', () => {
    const tokens = firstTokens({ overheadMs: 300, msPerByte: 0, noiseMs: 20 }, 100, 1);
    const { ttftMs, prefillMs } = predicted(tokens, 1_000_000);
    expect(prefillMs).toBe(0);
    expect(Math.abs(ttftMs - 300)).toBeLessThan(10);
  });

  test('a prediction has no part below 0 for the prompt where longer prompts came sooner', () => {
    const tokens = firstTokens({ overheadMs: 5000, msPerByte: -0.05, noiseMs: 0 }, 40, 1);
    const { ttftMs, prefillMs } = predicted(tokens, 1_000_000);
    expect(prefillMs).toBe(0);
    expect(ttftMs).toBeGreaterThan(0);
  });

  test('a prediction has no overhead below 0 where short prompts took next to nothing', () => {
    const tokens = firstTokens({ overheadMs: -1000, msPerByte: 0.1, noiseMs: 0 }, 100, 1);
    const nothing = predicted(tokens, 0);
    expect(nothing.ttftMs).toBe(0);
    const { ttftMs, prefillMs } = predicted(tokens, 80_000);
    expect(prefillMs).toBe(ttftMs);
    expect(Math.abs(ttftMs - 7000)).toBeLessThan(500);
  });
});

describe('prompts that were all alike', () => {
  const tokens = alike(50, { promptBytes: 40_000, ttftMs: 8000 });

  test('prompts that were all alike give no rate: their TTFT is expected of every prompt', () => {
    for (const promptBytes of [0, 40_000, 1_000_000]) {
      expect(predicted(tokens, promptBytes)).toMatchObject({ ttftMs: 8000, prefillMs: 0 });
    }
  });

  test('prompts that were all alike do not make a shorter one late, as all of their time may be for their length', () => {
    expect(predicted(tokens, 40_000).earliestMs).toBe(8000);
    expect(predicted(tokens, 90_000).earliestMs).toBe(8000);
    expect(predicted(tokens, 4000).earliestMs).toBe(800);
    expect(predicted(tokens, 0).earliestMs).toBe(0);
  });

  test('prompts that were all empty predict the same TTFT for an empty one', () => {
    const empty = alike(50, { promptBytes: 0, ttftMs: 70 });
    const expected = { ttftMs: 70, earliestMs: 70, latestMs: 70, prefillMs: 0 };
    expect(predicted(empty, 0)).toEqual(expected);
    // Nothing is known of longer ones.
    expect(predicted(empty, 5000)).toEqual({ ...expected, latestMs: Infinity });
  });

  test('prompts that were nearly alike give no rate that a long prompt would be judged by', () => {
    const nearly = firstTokens({ ...NOISY, msPerByte: 0 }, 200, 1, {
      fromBytes: 990,
      toBytes: 1010,
    });
    for (let end = 20; end <= nearly.length; end += 1) {
      expect(predicted(nearly.slice(0, end), 1_000_000).earliestMs).toBeLessThan(150);
    }
  });

  test('prompts that are all alike make an earlier rate forgotten in the end', () => {
    const known = learned(firstTokens(EXACT, 50, 1));
    const later = learned(alike(5000, { promptBytes: 100, ttftMs: 105 }), known);
    expect(predict(later, 100_000)).toMatchObject({ prefillMs: 0 });
  });
});

test.each([
  ['a time that is no number', { promptBytes: 10, ttftMs: Number.NaN }],
  ['a length that is none', { promptBytes: Number.NaN, ttftMs: 10 }],
  ['a time below 0', { promptBytes: 10, ttftMs: -1 }],
  ['an endless time', { promptBytes: 10, ttftMs: Number.POSITIVE_INFINITY }],
  ['more than a body can have', { promptBytes: 2 ** 31, ttftMs: 10 }],
])('a prediction learns nothing from %s', (_name, token) => {
  expect(withFirstToken(NO_PREDICTION_YET, token)).toBe(NO_PREDICTION_YET);
});

describe('slowness', () => {
  const record = learned(firstTokens(NOISY, 100, 1));

  test('a late first token that a long prompt explains is not slow', () => {
    expect(slowTtftMs(10_100, predict(record, 200_000))).toBeLessThan(500);
  });

  test('a machine that gets slow as such is slow, whatever the prompt', () => {
    expect(slowTtftMs(20_100, predict(record, 200_000))).toBeGreaterThan(9000);
    expect(slowTtftMs(6000, predict(record, 1000))).toBeGreaterThan(5900);
  });

  test('the slow part of a TTFT is never below 0, and is all of it while nothing is predicted', () => {
    expect(slowTtftMs(10, predict(record, 200_000))).toBe(0);
    expect(slowTtftMs(6000, null)).toBe(6000);
  });

  test('the slow part of a TTFT is all of it where prompts were alike', () => {
    const prediction = predicted(alike(50, { promptBytes: 40_000, ttftMs: 8000 }), 40_000);
    expect(slowTtftMs(8000, prediction)).toBe(8000);
  });
});

test('an engine is unresponsive after five times the latest prediction, and never before two hedge delays', () => {
  const prediction: Prediction = { ttftMs: 2500, earliestMs: 0, latestMs: 3000, prefillMs: 0 };
  expect(hungAfterMs(prediction, 5000)).toBe(15_000);
  expect(hungAfterMs(prediction, 10_000)).toBe(20_000);
  expect(hungAfterMs({ ...prediction, latestMs: Infinity }, 5000)).toBe(Infinity);
  expect(hungAfterMs(null, 5000)).toBe(Infinity);
});

test('a machine is predicted slow only where even the earliest TTFT is past the line', () => {
  const prediction: Prediction = {
    ttftMs: 6000,
    earliestMs: 5001,
    latestMs: 7000,
    prefillMs: 5500,
  };
  expect(predictedSlow(prediction, 5000)).toBe(true);
  expect(predictedSlow({ ...prediction, earliestMs: 5000 }, 5000)).toBe(false);
  expect(predictedSlow(null, 5000)).toBe(false);
});
