import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { admissionTo, NEW_BREAKER } from '../../main/gateway/circuits/breaker.ts';
import { createMemory } from '../../main/gateway/memory/memory.ts';
import { SAVED_TOPICS } from '../../main/gateway/monitoring/saved-state.ts';
import { circuitReport } from '../../main/gateway/monitoring/status.ts';
import { exclusionsIn } from '../../main/gateway/circuits/circuits.ts';
import { dualTimeOf, later, remainingMs } from '../../main/platform/clock.ts';
import { createManualClock } from '../support/clock.ts';
import { check } from './circuit-histories.ts';

const RUNS = { numRuns: 1000 };

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

const clock = createManualClock();
const NOW = dualTimeOf(clock);
const deadline = (ms: number) => ({ wallMs: NOW.wallMs + ms, leftMs: ms });
const SAVED = {
  hosted_a: {
    circuit: [
      {
        key: '',
        value: {
          health: {
            requests: 9,
            fails: 5,
            successes: 4,
            consecutiveFails: 5,
            consecutiveSlow: 0,
            lastError: 'http_500: HTTP 500',
            lastFailAt: NOW.wallMs,
            lastSuccessAt: null,
            lastTtftMs: 12,
            ttft: { value: 12, weight: 1, atMs: NOW.wallMs },
            owes: 'content',
            provenAt: null,
          },
          cooldown: { until: deadline(60_000), openings: 1 },
        },
        until: null,
      },
    ],
    left_alone: [
      { key: 'busy', value: { reason: 'busy', model: null }, until: deadline(2000) },
      { key: 'm', value: { reason: 'model_not_found', model: 'm' }, until: deadline(9) },
    ],
    longest: [{ key: 'm', value: { tokens: 9000 }, until: deadline(9) }],
    latency: [
      { key: '', value: { mean: { value: 900, weight: 1, atMs: 0 }, samples: 2 }, until: null },
    ],
  },
};

function restored(saved: unknown) {
  const memory = createMemory(clock);
  memory.restore(saved, SAVED_TOPICS);
  return memory;
}

test('what is saved of an upstream is read back and saved unchanged', () => {
  expect(JSON.parse(JSON.stringify(restored(SAVED).save(SAVED_TOPICS)))).toEqual(SAVED);
});

test('what an earlier version saved without what is saved now is read back', () => {
  const isNew = (name: string) => name === 'owes' || name === 'provenAt';
  const earlier = JSON.stringify(SAVED, (name, value: unknown) =>
    isNew(name) ? undefined : value,
  );
  const { breaker } = restored(JSON.parse(earlier)).of('hosted_a').get('circuit') ?? {};
  expect(breaker).toMatchObject({ health: { fails: 5, owes: null }, state: { kind: 'open' } });
});

test('a probe that was running when its circuit was saved is not running in what is read', () => {
  const { breaker } = restored(SAVED).of('hosted_a').get('circuit') ?? { breaker: NEW_BREAKER };
  const probe = admissionTo(breaker, later(NOW, 60_000), 'in_turn', 30_000);
  if (probe.kind === 'refused') throw new Error('no probe');
  expect(probe.breaker.state.kind).toBe('probing');
  const memory = createMemory(clock);
  memory.of('hosted_a').set('circuit', '', { breaker: probe.breaker, epoch: 0 });
  const read = restored(memory.save(SAVED_TOPICS)).of('hosted_a').get('circuit');
  expect(read?.breaker.state.kind).toBe('open');
});

test('any other saved value is read as nothing or as what can be shown, and nothing throws', () => {
  const anything = fc.oneof(fc.anything(), tampered(SAVED));
  const property = fc.property(anything, (saved) => {
    const known = restored(saved).of('hosted_a');
    const breaker = known.get('circuit')?.breaker;
    if (breaker !== undefined) {
      const { cooldownRemainingMs } = circuitReport(breaker, NOW);
      check(cooldownRemainingMs >= 0 && cooldownRemainingMs <= 86_400_000 * 1.1, saved);
    }
    check(
      exclusionsIn(known).every(({ until }) => remainingMs(until, NOW) <= 600_000),
      saved,
    );
  });
  expect(() => fc.assert(property, RUNS)).not.toThrow();
});
