import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createPredictions,
  type Predictions,
  type FirstToken,
} from '../../../main/gateway/routing/predictions.ts';
import { createManualClock } from '../../support/clock.ts';
import { firstTokens, type LinearMachine } from '../../support/machine.ts';

const MACHINE: LinearMachine = { overheadMs: 100, msPerByte: 0.05, noiseMs: 20 };
const MINUTE_MS = 60_000;

function take(predictions: Predictions, id: string, tokens: readonly FirstToken[]): void {
  for (const { promptBytes, ttftMs } of tokens) predictions.sample(id, promptBytes, ttftMs);
}

/** What was saved, as it comes back from a file. */
const stored = (predictions: Predictions): unknown =>
  JSON.parse(JSON.stringify(predictions.save())) as unknown;

test('samples of one machine predict nothing of another', () => {
  const predictions = createPredictions(createManualClock());
  take(predictions, 'prv_a', firstTokens(MACHINE, 30, 1));
  take(predictions, 'prv_b', firstTokens({ ...MACHINE, msPerByte: 0.5 }, 30, 1));
  take(predictions, 'prv_c', firstTokens(MACHINE, 19, 1));
  expect(predictions.at('prv_a', 100_000)?.ttftMs).toBeCloseTo(5100, -2);
  expect(predictions.at('prv_b', 100_000)?.ttftMs).toBeCloseTo(50_100, -2);
  expect(predictions.at('prv_c', 100_000)).toBeNull();
  expect(predictions.at('prv_d', 100_000)).toBeNull();
});

test('the predictions of a machine that is forgotten begin again', () => {
  const predictions = createPredictions(createManualClock());
  take(predictions, 'prv_a', firstTokens(MACHINE, 30, 1));
  predictions.forget('prv_a');
  expect(predictions.at('prv_a', 1000)).toBeNull();
  take(predictions, 'prv_a', firstTokens(MACHINE, 19, 1));
  expect(predictions.at('prv_a', 1000)).toBeNull();
});

test('a machine without a sample for a minute is predicted to be neither slow nor unresponsive', () => {
  const clock = createManualClock();
  const predictions = createPredictions(clock);
  take(predictions, 'prv_a', firstTokens(MACHINE, 30, 1));
  clock.advance(MINUTE_MS);
  const heard = predictions.at('prv_a', 200_000);
  expect(heard?.earliestMs).toBeGreaterThan(9000);
  clock.advance(1);
  expect(predictions.at('prv_a', 200_000)).toEqual({
    ...heard,
    earliestMs: 0,
    latestMs: Infinity,
  });
  predictions.sample('prv_a', 200_000, 10_100);
  expect(predictions.at('prv_a', 200_000)?.earliestMs).toBeGreaterThan(9000);
});

test('predictions after a long time down do not use the samples from before it', () => {
  const clock = createManualClock();
  const predictions = createPredictions(clock);
  take(predictions, 'prv_a', firstTokens(MACHINE, 30, 1));
  const saved = stored(predictions);
  const later = createManualClock();
  later.advance(2 * MINUTE_MS);
  const again = createPredictions(later);
  again.restore(saved);
  expect(again.at('prv_a', 200_000)).toMatchObject({ earliestMs: 0 });
  expect(again.at('prv_a', 200_000)?.ttftMs).toBeGreaterThan(9000);
});

const SOUND = {
  samples: 30,
  meanBytes: 1000,
  meanTtftMs: 100,
  spread: 1e6,
  covariance: 1e5,
  residualMs: 1,
  heardWallMs: 0,
};

test.each([
  null,
  [],
  'prv_a',
  { prv_a: null },
  { prv_a: { ...SOUND, samples: 0.5 } },
  { prv_a: { ...SOUND, spread: -1 } },
  { prv_a: { ...SOUND, covariance: 1e300 } },
  { prv_a: { ...SOUND, meanBytes: 1e300 } },
  { prv_a: { ...SOUND, more: 1 } },
])('predictions saved as %j are not restored', (saved) => {
  const predictions = createPredictions(createManualClock());
  predictions.restore(saved);
  expect(predictions.save()).toEqual({});
});

test('a prediction is a number, whatever is restored', () => {
  const value = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.nat(),
    fc.constantFrom(0, 1e15, 1e21, -1e21),
  );
  const record = fc.record({
    samples: fc.nat(),
    meanBytes: value,
    meanTtftMs: value,
    spread: value,
    covariance: value,
    residualMs: value,
    heardWallMs: fc.nat(),
  });
  const property = fc.property(record, fc.nat(2 ** 30), (each, promptBytes) => {
    const predictions = createPredictions(createManualClock());
    predictions.restore({ prv_a: each });
    for (let n = 0; n < 20; n += 1) predictions.sample('prv_a', promptBytes, 100);
    const { latestMs = 0, ...finite } = predictions.at('prv_a', promptBytes) ?? {};
    expect(latestMs).toBeGreaterThanOrEqual(0);
    for (const found of Object.values(finite)) {
      expect(Number.isFinite(found) && found >= 0).toBe(true);
    }
  });
  fc.assert(property, { numRuns: 400 });
});
