import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { predict, slowTtftMs } from '../../main/gateway/routing/predictions.ts';
import { learned } from '../support/machine.ts';

const RUNS = { numRuns: 300 };

/** As reported: a length and a time, now and then none. */
const reading = fc.record({
  promptBytes: fc.oneof(fc.nat(100_000), fc.nat(10), fc.constant(2 ** 30), fc.double()),
  ttftMs: fc.oneof(fc.nat(60_000), fc.double({ min: 0, max: 86_400_000 }), fc.double()),
});
const history = fc.array(reading, { maxLength: 300, size: 'max' });
const anyBytes = fc.oneof(fc.nat(100_000), fc.double({ min: 0, max: 2 ** 30, noNaN: true }));

test('a prediction is never negative, infinite or no number, and its parts are in order, whatever came', () => {
  const property = fc.property(history, anyBytes, (tokens, promptBytes) => {
    const record = learned(tokens);
    for (const value of Object.values(record)) expect(Number.isFinite(value)).toBe(true);
    const prediction = predict(record, promptBytes);
    expect(prediction === null).toBe(record.samples < 20);
    if (prediction === null) return;
    const { ttftMs, earliestMs, prefillMs } = prediction;
    for (const value of [ttftMs, earliestMs, prefillMs]) {
      expect(Number.isFinite(value) && value >= 0).toBe(true);
    }
    expect(earliestMs).toBeLessThanOrEqual(ttftMs);
    expect(prefillMs).toBeLessThanOrEqual(ttftMs);
    expect(slowTtftMs(ttftMs, prediction)).toBeGreaterThanOrEqual(0);
  });
  fc.assert(property, RUNS);
});

test('a longer prompt is never predicted to have a shorter TTFT', () => {
  const property = fc.property(history, anyBytes, anyBytes, (tokens, one, other) => {
    const record = learned(tokens);
    const [short, long] = [Math.min(one, other), Math.max(one, other)];
    expect(predict(record, long)?.ttftMs ?? 0).toBeGreaterThanOrEqual(
      predict(record, short)?.ttftMs ?? 0,
    );
  });
  fc.assert(property, RUNS);
});
