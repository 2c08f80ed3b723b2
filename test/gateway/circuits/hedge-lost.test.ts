import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  admit,
  type AdmitDecision,
  admitForced,
  admitIfClosed,
  type Breaker,
  firstContent,
  hedgeLost,
  type Limits,
  NEW_BREAKER,
  record,
  type Result,
} from '../../../main/gateway/circuits/breaker.ts';
import { createCircuits } from '../../../main/gateway/circuits/circuits.ts';
import { later, type DualTime } from '../../../main/platform/clock.ts';
import { circuitReport } from '../../../main/gateway/monitoring/status.ts';
import { createManualClock } from '../../support/clock.ts';
import { UNWATCHED } from '../../support/circuits.ts';

const LIMITS: Limits = {
  failThreshold: 1,
  cooldownMs: 60_000,
  ttftThresholdMs: 5000,
  ttftSlowThreshold: 3,
};
const SLOW_MS = LIMITS.ttftThresholdMs;
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

function admitted(admission: AdmitDecision): Extract<AdmitDecision, { readonly kind: 'admitted' }> {
  if (admission.kind !== 'admitted') throw new Error(`refused for ${admission.waitMs} ms`);
  return admission;
}

/** One admitted call that loses its hedge after `silentMs` without content. */
function hedgeLostOnce(breaker: Breaker, silentMs: number, now: DualTime = T0): Breaker {
  const { breaker: called, permit } = admitted(admit(breaker, now, TIMEOUT_MS));
  return hedgeLost(called, permit, silentMs, judging(now));
}

/** One that failed, which opened it. */
function opened(): Breaker {
  const { breaker, permit } = admitted(admit(NEW_BREAKER, T0, TIMEOUT_MS));
  return record(breaker, permit, FAILURE, judging(T0));
}
const OVER = later(T0, LIMITS.cooldownMs);

describe('a call that lost the race', () => {
  test.each([
    [SLOW_MS - 1, 0],
    [SLOW_MS, 1],
    [60_000, 1],
  ])(
    'a call that lost the race after %d ms of silence is slow %d times and never a failure',
    (silentMs, consecutiveSlow) => {
      expect(circuitReport(hedgeLostOnce(NEW_BREAKER, silentMs), T0)).toMatchObject({
        open: false,
        fails: 0,
        successes: 0,
        consecutiveFails: 0,
        consecutiveSlow,
        lastTtftMs: null,
      });
    },
  );

  test('losing the race slowly three times in a row opens the circuit for a cool-down', () => {
    let breaker = NEW_BREAKER;
    for (let n = 1; n <= 3; n += 1) {
      expect(breaker.state.kind).toBe('closed');
      breaker = hedgeLostOnce(breaker, SLOW_MS);
    }
    expect(circuitReport(breaker, T0)).toMatchObject({ open: true, cooldownRemainingMs: 60_000 });
  });

  test('a slow call that lost the race counts in one row with slow answers, and a fast answer ends the row', () => {
    const slow = hedgeLostOnce(hedgeLostOnce(NEW_BREAKER, SLOW_MS), SLOW_MS);
    const { breaker, permit } = admitted(admit(slow, T0, TIMEOUT_MS));
    expect(firstContent(breaker, permit, SLOW_MS + 1, judging(T0)).state.kind).toBe('open');
    const faster = firstContent(breaker, permit, SLOW_MS, judging(T0));
    expect(hedgeLostOnce(faster, SLOW_MS).state.kind).toBe('closed');
  });

  test('a call that lost the race before it was slow neither ends a row of slow ones nor counts in it', () => {
    const slow = hedgeLostOnce(NEW_BREAKER, SLOW_MS);
    expect(hedgeLostOnce(slow, 1).health.consecutiveSlow).toBe(1);
  });

  test('a call that lost the race raises the mean by what it took at least, and never lowers it', () => {
    const known = hedgeLostOnce(NEW_BREAKER, 4000);
    expect(known.health.ttft?.value).toBe(4000);
    expect(hedgeLostOnce(known, 1000).health.ttft?.value).toBe(4000);
    expect(hedgeLostOnce(known, 8000).health.ttft?.value).toBe(6000);
  });

  test('a call that lost the race after the circuit had opened counts in the mean alone', () => {
    const { breaker, permit } = admitted(admit(NEW_BREAKER, T0, TIMEOUT_MS));
    const open = record(breaker, permit, FAILURE, judging(T0));
    const late = hedgeLost(open, permit, SLOW_MS, judging(T0));
    expect(late.state).toEqual(open.state);
    expect(late.health).toMatchObject({ consecutiveSlow: 0, ttft: { value: SLOW_MS } });
  });
});

describe('a probe that lost the race', () => {
  const probed = (silentMs: number) => hedgeLostOnce(opened(), silentMs, OVER);

  test('a slow probe that lost the race makes the next one wait a cool-down twice as long', () => {
    const breaker = probed(SLOW_MS);
    expect(circuitReport(breaker, OVER)).toMatchObject({
      open: true,
      cooldownRemainingMs: 120_000,
    });
    expect(admit(breaker, later(OVER, 119_999), TIMEOUT_MS).kind).toBe('refused');
    expect(admit(breaker, later(OVER, 120_000), TIMEOUT_MS).kind).toBe('admitted');
  });

  test('a probe that lost the race before it was slow is over, and the next request is the probe', () => {
    const breaker = probed(SLOW_MS - 1);
    expect(circuitReport(breaker, OVER)).toMatchObject({ open: true, cooldownRemainingMs: 0 });
    expect(admit(breaker, OVER, TIMEOUT_MS).kind).toBe('admitted');
  });

  test('a forced probe that lost the race neither shortens nor lengthens the cool-down', () => {
    const early = later(T0, 1000);
    const { breaker, permit } = admitted(admitForced(opened(), early, TIMEOUT_MS));
    const after = hedgeLost(breaker, permit, SLOW_MS, judging(later(early, SLOW_MS)));
    expect(after.state).toEqual(opened().state);
  });

  test('a later result of a probe that lost the race leaves the cool-down as it is', () => {
    const { breaker, permit } = admitted(admit(opened(), OVER, TIMEOUT_MS));
    const after = hedgeLost(breaker, permit, SLOW_MS, judging(OVER));
    for (const result of [SUCCESS, FAILURE, { kind: 'neutral' } as const]) {
      expect(record(after, permit, result, judging(OVER)).state).toEqual(after.state);
    }
  });
});

describe('a hedged call', () => {
  test('a hedged call is admitted while the circuit is closed', () => {
    expect(admitIfClosed(NEW_BREAKER, T0, TIMEOUT_MS)).toEqual(admit(NEW_BREAKER, T0, TIMEOUT_MS));
  });

  test.each([
    ['open', opened(), T0],
    ['half-open', opened(), OVER],
    ['probing', admitted(admit(opened(), OVER, TIMEOUT_MS)).breaker, OVER],
  ])('a hedged call is refused where the circuit is %s', (_state, breaker, now) => {
    expect(admitIfClosed(breaker, now, TIMEOUT_MS).kind).toBe('refused');
  });

  test('a hedged call is refused while its upstream is excluded', () => {
    const clock = createManualClock();
    const circuits = createCircuits({
      clock,
      random: () => 0.5,
      config: () => ({ circuit: LIMITS }),
      ...UNWATCHED,
      opened() {},
    });
    const failure = {
      reason: 'rate_limited',
      mark: 'neutral',
      surfaced: { status: 429, code: 'upstream_rate_limited' },
      fallBack: 'always',
      response: null,
      retryAfterMs: 30_000,
      detail: 'HTTP 429',
      said: '',
    } as const;
    circuits.excludeAfter('hosted_b', failure, { model: 'm', epoch: 0 });
    const call = { model: 'm', timeoutMs: TIMEOUT_MS };
    expect(circuits.admitIfClosed('hosted_b', call, 0)).toMatchObject({ reason: 'rate_limited' });
    clock.advance(30_000);
    expect(circuits.admitIfClosed('hosted_b', call, 0)).toMatchObject({ kind: 'admitted' });
  });
});

test('time that a prompt is known to take is not slowness, yet it counts in the mean', () => {
  const circuits = createCircuits({
    clock: createManualClock(),
    random: () => 0.5,
    config: () => ({ circuit: LIMITS }),
    ...UNWATCHED,
    opened() {},
  });
  const health = () => circuits.at('local').breaker.health;
  const permit = { serial: 0 };
  circuits.hedgeLost('local', permit, { silentMs: 9000, slowMs: SLOW_MS - 1 });
  expect(health()).toMatchObject({ consecutiveSlow: 0, ttft: { value: 9000 } });
  circuits.hedgeLost('local', permit, { silentMs: 9000, slowMs: SLOW_MS });
  expect(health()).toMatchObject({ consecutiveSlow: 1 });
  circuits.firstContent('local', permit, { ttftMs: 9000, slowMs: SLOW_MS });
  expect(health()).toMatchObject({ consecutiveSlow: 0, lastTtftMs: 9000 });
  circuits.firstContent('local', permit, { ttftMs: 9000, slowMs: SLOW_MS + 1 });
  expect(health()).toMatchObject({ consecutiveSlow: 1 });
});

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
      const admission = admit(breaker, now, TIMEOUT_MS);
      if (admission.kind === 'refused') continue;
      const { permit } = admission;
      now = later(now, silentMs);
      if (end !== 'hedge_lost') {
        const result = end === 'failure' ? FAILURE : SUCCESS;
        breaker = record(admission.breaker, permit, result, judging(now));
        continue;
      }
      const before = admission.breaker;
      breaker = hedgeLost(before, permit, silentMs, judging(now));
      const { fails, successes, consecutiveFails } = before.health;
      expect(breaker.health).toMatchObject({ fails, successes, consecutiveFails });
      expect(breaker.state.kind).not.toBe('probing');
      expect(before.state.kind !== 'closed' && breaker.state.kind === 'closed').toBe(false);
    }
  });
  fc.assert(property, { numRuns: 500 });
});
