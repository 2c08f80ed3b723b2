import { expect, test } from 'vitest';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import { createCircuits } from '../../../main/gateway/circuits/circuits.ts';
import { createManualClock } from '../../support/clock.ts';

test.each([
  [0, 0.9],
  [0.5, 1],
  [0.999_999, 1.1],
])(
  'the second cool-down is jittered, and the first exact: a random number of %d gives %d of its length',
  (dice, factor) => {
    const clock = createManualClock();
    const limits = {
      failThreshold: 1,
      cooldownMs: 60_000,
      ttftThresholdMs: 1,
      ttftSlowThreshold: 1,
    };
    const circuits = createCircuits({
      memory: createMemory(clock),
      clock,
      random: () => dice,
      config: () => ({ circuit: limits }),
      changed() {},
      opened() {},
    });
    const admit = () =>
      circuits.admit('x', { model: '', timeoutMs: 1000 }, circuits.epoch(), 'in_turn');
    const cooldownAfterFailure = () => {
      const entry = admit();
      if (entry.kind === 'excluded') throw new Error(entry.reason);
      const costMs = Number.POSITIVE_INFINITY;
      circuits.record(entry.permit, { kind: 'failure', error: '', silentMs: 0, costMs });
      const next = admit();
      return next.kind === 'excluded' ? next.waitMs : 0;
    };
    expect(cooldownAfterFailure()).toBe(60_000);
    for (const minutes of [2, 4, 8, 10, 10]) {
      clock.advance(11 * 60_000);
      expect(cooldownAfterFailure() / (minutes * 60_000)).toBeCloseTo(factor, 4);
    }
    // One that is configured longer than the cap is kept, and does not grow.
    limits.cooldownMs = 3_600_000;
    clock.advance(11 * 60_000);
    expect(cooldownAfterFailure() / 3_600_000).toBeCloseTo(factor, 4);
  },
);
