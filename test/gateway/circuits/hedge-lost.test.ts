import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  admit,
  type Limits,
  NEW_BREAKER,
  record,
  type Result,
} from '../../../main/gateway/circuits/breaker.ts';
import { later, type DualTime } from '../../../main/platform/clock.ts';

const LIMITS: Limits = {
  failThreshold: 1,
  cooldownMs: 60_000,
  ttftThresholdMs: 5000,
  ttftSlowThreshold: 3,
};
const TIMEOUT_MS = 30_000;
const SUCCESS: Result = { kind: 'success' };
const FAILURE: Result = {
  kind: 'failure',
  error: 'http_503: HTTP 503',
  silentMs: 0,
  costMs: Number.POSITIVE_INFINITY,
};
const T0: DualTime = { ticks: 0, wallMs: Date.UTC(2026, 0, 1) };

const judging = (now: DualTime) => ({ now, limits: LIMITS, random: 0.5 });

test('a lost race is never a failure or a success, never closes, and leaves no probe running', () => {
  const step = fc.record({
    gapMs: fc.nat(200_000),
    silentMs: fc.nat(20_000),
    end: fc.constantFrom('hedge_lost', 'failure', 'success'),
  });
  const property = fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    let now = T0;
    let breaker = NEW_BREAKER;
    for (const { gapMs, silentMs, end } of steps) {
      now = later(now, gapMs);
      const admission = admit(breaker, now, 'in_turn', TIMEOUT_MS);
      if (admission.kind === 'refused') continue;
      const { permit } = admission;
      now = later(now, silentMs);
      if (end !== 'hedge_lost') {
        const result = end === 'failure' ? FAILURE : SUCCESS;
        breaker = record(admission.breaker, permit, result, judging(now));
        continue;
      }
      const before = admission.breaker;
      const outrun = { kind: 'outrun', silentMs, slowMs: silentMs } as const;
      breaker = record(before, permit, outrun, judging(now));
      const { fails, successes, consecutiveFails } = before.health;
      expect(breaker.health).toMatchObject({ fails, successes, consecutiveFails });
      expect(breaker.state.kind).not.toBe('probing');
      expect(before.state.kind !== 'closed' && breaker.state.kind === 'closed').toBe(false);
    }
  });
  fc.assert(property, { numRuns: 200 });
});
