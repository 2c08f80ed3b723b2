import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Breaker } from '../../main/gateway/circuits/breaker.ts';
import {
  decodeBreaker,
  decodeExclusions,
  encodeBreaker,
  encodeExclusions,
} from '../../main/gateway/circuits/saved-circuits.ts';
import { later, type DualTime, remainingMs } from '../../main/platform/clock.ts';
import { circuitReport } from '../../main/gateway/monitoring/status.ts';
import { check, history, play, type World } from './circuit-histories.ts';

const RUNS = { numRuns: 10_000 };
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
const stored = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function decoded(breaker: Breaker, savedAt: DualTime, now: DualTime): Breaker {
  const copy = decodeBreaker(stored(encodeBreaker(breaker, savedAt)), now);
  if (copy === null) throw new Error('not decoded');
  return copy;
}

/** What outlives the process: no ticket and no probe. */
function lasting({ health, state }: Breaker): unknown {
  return state.kind === 'closed'
    ? { health }
    : { health, until: state.until, openings: state.consecutiveOpens };
}

const leftMs = ({ state }: Breaker, now: DualTime): number =>
  state.kind === 'closed' ? 0 : remainingMs(state.until, now);

function last(past: Parameters<typeof play>[0]): World | null {
  return play(past).at(-1)?.after ?? null;
}

test('a saved circuit is read back as it was while the clocks agree', () => {
  const property = fc.property(history, (past) => {
    const events = past.events.filter(({ kind }) => kind !== 'wall_jump');
    const world = last({ ...past, events });
    if (world === null) return;
    const { breaker, now } = world;
    check(isSame(lasting(decoded(breaker, now, now)), lasting(breaker)), world);
  });
  expect(() => fc.assert(property, RUNS)).not.toThrow();
});

test('the shown state of a circuit outlives a restart, whatever the clocks say', () => {
  const property = fc.property(history, fc.nat(1_000_000), (past, ticks) => {
    const world = last(past);
    if (world === null) return;
    const { breaker, now } = world;
    const elsewhere = { ticks, wallMs: now.wallMs };
    const copy = decoded(breaker, now, elsewhere);
    check(isSame(circuitReport(copy, elsewhere), circuitReport(breaker, now)), world);
    check(isSame(encodeBreaker(copy, elsewhere), encodeBreaker(breaker, now)), world);
  });
  expect(() => fc.assert(property, RUNS)).not.toThrow();
});

test('time down counts for a circuit, and a clock set back meanwhile adds nothing', () => {
  const downMs = fc.integer({ min: -10_000_000, max: 10_000_000 });
  const property = fc.property(history, downMs, fc.nat(1_000_000), (past, ms, ticks) => {
    const world = last(past);
    if (world === null) return;
    const { breaker, now } = world;
    const then = { ticks, wallMs: now.wallMs + ms };
    const copy = decoded(breaker, now, then);
    const expectedMs = Math.max(0, leftMs(breaker, now) - Math.max(0, ms));
    // The wall clock may have been slewed by up to a second against the ticks before.
    check(Math.abs(leftMs(copy, then) - expectedMs) <= 1000, { world, ms });
    check(leftMs(copy, then) <= leftMs(breaker, now), { world, ms });
    check((copy.state.kind === 'closed') === (breaker.state.kind === 'closed'), { world, ms });
  });
  expect(() => fc.assert(property, RUNS)).not.toThrow();
});

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

test('a sample of TTFT keeps its age over a restart', () => {
  const saved = { ...SAVED_BREAKER, ttft: { value: 12, weight: 1, wallMs: NOW.wallMs - 60_000 } };
  expect(decodeBreaker(saved, NOW)?.health.ttft?.at).toBe(NOW.ticks - 60_000);
  const before = later(NOW, -120_000);
  expect(decodeBreaker(saved, before)?.health.ttft?.at).toBe(before.ticks);
});
