import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decodeBreaker,
  decodeExclusions,
  encodeExclusions,
} from '../../main/gateway/circuits/saved-circuits.ts';
import { type DualTime } from '../../main/platform/clock.ts';
import { circuitReport } from '../../main/gateway/monitoring/status.ts';
import { check } from './circuit-histories.ts';

const RUNS = { numRuns: 2000 };
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Something saved with one part of it replaced by anything. */
const tampered = (saved: fc.JsonValue): fc.Arbitrary<unknown> => {
  if (typeof saved !== 'object' || saved === null) return fc.jsonValue({ maxDepth: 1 });
  const keys = Object.keys(saved);
  if (keys.length === 0) return fc.jsonValue({ maxDepth: 1 });
  return fc
    .constantFrom(...keys)
    .chain((key) =>
      fc
        .oneof(
          fc.constantFrom<unknown>(-1, 0.5, 1e300, '', null, Number.MAX_SAFE_INTEGER, undefined),
          fc.jsonValue({ maxDepth: 1 }),
          tampered(Object.entries(saved).find(([name]) => name === key)?.[1] ?? null),
        )
        .map((value): unknown =>
          Array.isArray(saved)
            ? saved.map((item, index) => (String(index) === key ? value : item))
            : { ...saved, [key]: value },
        ),
    );
};

const NOW: DualTime = { ticks: 500, wallMs: Date.UTC(2026, 0, 1) };
const SAVED_BREAKER: fc.JsonValue = {
  version: 1,
  requests: 9,
  fails: 5,
  successes: 4,
  consecutiveFails: 5,
  consecutiveSlow: 0,
  lastError: 'http_500: HTTP 500',
  lastFailAt: NOW.wallMs,
  lastSuccessAt: null,
  lastTtftMs: 12,
  ttft: { value: 12, weight: 1, wallMs: NOW.wallMs },
  cooldown: { until: { wallMs: NOW.wallMs + 60_000, leftMs: 60_000 }, openings: 1 },
};
const SAVED_SKIPS: fc.JsonValue = {
  version: 1,
  skips: [
    { reason: 'busy', until: { wallMs: NOW.wallMs + 2000, leftMs: 2000 } },
    { reason: 'model_not_found', model: 'm', until: { wallMs: NOW.wallMs + 9, leftMs: 9 } },
  ],
};

test('a saved circuit is read', () => {
  expect(decodeBreaker(SAVED_BREAKER, NOW)).not.toBeNull();
  expect(decodeExclusions(SAVED_SKIPS, NOW)).not.toBeNull();
});

test('any other saved value is read as nothing or as a circuit that can be shown, and nothing throws', () => {
  const anything = fc.oneof(fc.anything(), tampered(SAVED_BREAKER), tampered(SAVED_SKIPS));
  const property = fc.property(anything, (saved) => {
    const breaker = decodeBreaker(saved, NOW);
    if (breaker !== null) {
      const { cooldownRemainingMs } = circuitReport(breaker, NOW);
      check(cooldownRemainingMs >= 0 && cooldownRemainingMs <= 86_400_000 * 1.1, saved);
    }
    const skips = decodeExclusions(saved, NOW);
    check(skips === null || isSame(encodeExclusions(skips, NOW).version, 1), saved);
  });
  expect(() => fc.assert(property, RUNS)).not.toThrow();
});
