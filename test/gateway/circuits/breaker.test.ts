import { expect, test } from 'vitest';
import {
  admit,
  type AdmitDecision,
  admitForced,
  type Breaker,
  firstContent,
  type Limits,
  NEW_BREAKER,
  type Permit,
  record,
  reset,
  type Result,
  sent,
  waitMsOf,
} from '../../../main/gateway/circuits/breaker.ts';
import { decodeBreaker, encodeBreaker } from '../../../main/gateway/circuits/saved-circuits.ts';
import { later, type DualTime, dualTimeOf } from '../../../main/platform/clock.ts';
import { circuitReport, providerCircuitReport } from '../../../main/gateway/monitoring/status.ts';
import { createManualClock } from '../../support/clock.ts';

const LIMITS: Limits = {
  failThreshold: 5,
  cooldownMs: 60_000,
  ttftThresholdMs: 5000,
  ttftSlowThreshold: 3,
};
const MINUTE_MS = 60_000;
const TIMEOUT_MS = 30_000;
const SUCCESS: Result = { kind: 'success' };
const FAILURE: Result = {
  kind: 'failure',
  error: 'http_500: HTTP 500',
  silentMs: 0,
  costMs: Number.POSITIVE_INFINITY,
};
const NEUTRAL: Result = { kind: 'neutral' };
const T0: DualTime = { ticks: 250.5, wallMs: Date.UTC(2026, 0, 1) };

type Admitted = Extract<AdmitDecision, { readonly kind: 'admitted' }>;

function admitted(admission: AdmitDecision): Admitted {
  if (admission.kind !== 'admitted') throw new Error(`refused for ${admission.waitMs} ms`);
  return admission;
}
const letIn = (breaker: Breaker, now: DualTime) => admitted(admit(breaker, now, TIMEOUT_MS));
const forceIn = (breaker: Breaker, now: DualTime) =>
  admitted(admitForced(breaker, now, TIMEOUT_MS));
const isAdmitting = (breaker: Breaker, now: DualTime) =>
  admit(breaker, now, TIMEOUT_MS).kind === 'admitted';

interface When {
  readonly now: DualTime;
  readonly limits?: Limits;
  readonly random?: number;
}
function told(breaker: Breaker, permit: Permit, result: Result, when: When): Breaker {
  return record(breaker, permit, result, { limits: LIMITS, random: 0.5, ...when });
}

/** One request that is let in and ends at once. */
function called(breaker: Breaker, result: Result, when: When): Breaker {
  const admission = letIn(breaker, when.now);
  return told(admission.breaker, admission.permit, result, when);
}

function failedTimes(times: number, breaker: Breaker = NEW_BREAKER): Breaker {
  let failed = breaker;
  for (let n = 0; n < times; n += 1) failed = called(failed, FAILURE, { now: T0 });
  return failed;
}

/** Open since T0. */
const OPEN = failedTimes(5);
const OVER = later(T0, MINUTE_MS);

const openingsOf = ({ state }: Breaker) => (state.kind === 'closed' ? 0 : state.consecutiveOpens);

test.each([
  [1, false],
  [4, false],
  [5, true],
])('a breaker with a threshold of 5 is open after %d failures in a row: %s', (times, open) => {
  expect(circuitReport(failedTimes(times), T0)).toMatchObject({
    open,
    consecutiveFails: times,
    fails: times,
  });
});

test('a success ends a row of failures', () => {
  const broken = called(failedTimes(4), SUCCESS, { now: T0 });
  expect(failedTimes(4, broken).state.kind).toBe('closed');
});

test('a neutral result neither ends a row of failures nor counts in it', () => {
  const same = failedTimes(4);
  expect(called(same, NEUTRAL, { now: T0 })).toEqual(same);
});

test('an open breaker refuses at once and says until when', () => {
  expect(admit(OPEN, later(T0, 1), TIMEOUT_MS)).toEqual({ kind: 'refused', waitMs: 59_999 });
  expect(circuitReport(OPEN, later(T0, 1))).toMatchObject({
    open: true,
    failUntil: '2026-01-01T00:01:00.000Z',
    cooldownRemainingMs: 59_999,
    lastError: 'http_500: HTTP 500',
    lastFailAt: '2026-01-01T00:00:00.000Z',
  });
});

test('an open breaker whose cool-down is over has nothing left to wait while no probe is out', () => {
  expect(circuitReport(OPEN, later(OVER, 5000))).toMatchObject({
    open: true,
    cooldownRemainingMs: 0,
    failUntil: '2026-01-01T00:01:00.000Z',
  });
});

test('one request after the cool-down is the probe, and the others are refused', () => {
  const { breaker } = letIn(OPEN, OVER);
  expect(breaker.state.kind).toBe('probing');
  expect(isAdmitting(breaker, OVER)).toBe(false);
  expect(admitForced(breaker, OVER, TIMEOUT_MS).kind).toBe('refused');
  expect(circuitReport(breaker, OVER)).toMatchObject({ open: true, cooldownRemainingMs: 0 });
});

test('a success of the probe closes the breaker and clears its rows, growth and deadline', () => {
  const closed = called(called(OPEN, FAILURE, { now: OVER }), SUCCESS, {
    now: later(OVER, 3 * MINUTE_MS),
  });
  expect(circuitReport(closed, OVER)).toMatchObject({
    open: false,
    failUntil: null,
    cooldownRemainingMs: 0,
    consecutiveFails: 0,
    fails: 6,
    successes: 1,
  });
  expect(waitMsOf(failedTimes(5, closed), T0)).toBe(MINUTE_MS);
});

test.each([
  [0, [1, 1.8, 3.6, 7.2, 9, 9]],
  [0.5, [1, 2, 4, 8, 10, 10]],
  [0.999999, [1, 2.2, 4.4, 8.8, 11, 11]],
])('each failed probe doubles the cool-down up to 10 min, jittered by %d', (random, minutes) => {
  let now = T0;
  let breaker = OPEN;
  const waits = minutes.map(() => {
    const waitMs = waitMsOf(breaker, now);
    now = later(now, waitMs);
    breaker = called(breaker, FAILURE, { now, random });
    return waitMs / MINUTE_MS;
  });
  for (const [n, wait] of waits.entries()) expect(wait).toBeCloseTo(minutes[n] ?? 0, 3);
});

test('a cool-down that is configured longer than the cap is kept and does not grow', () => {
  const limits = { ...LIMITS, failThreshold: 1, cooldownMs: 60 * MINUTE_MS };
  const open = called(NEW_BREAKER, FAILURE, { now: T0, limits });
  const over = later(T0, 60 * MINUTE_MS);
  expect(waitMsOf(open, T0)).toBe(60 * MINUTE_MS);
  expect(waitMsOf(called(open, FAILURE, { now: over, limits }), over)).toBe(60 * MINUTE_MS);
});

test('a neutral result of the probe lets the next request probe', () => {
  const { permit, breaker } = letIn(OPEN, OVER);
  const freed = told(breaker, permit, NEUTRAL, { now: OVER });
  expect(freed).toEqual({ ...OPEN, lastSerial: breaker.lastSerial });
  expect(letIn(freed, OVER).breaker.state.kind).toBe('probing');
});

test('a probe without a result is released shortly after its timeout', () => {
  const { breaker } = letIn(OPEN, OVER);
  expect(isAdmitting(breaker, later(OVER, TIMEOUT_MS))).toBe(false);
  expect(isAdmitting(breaker, later(OVER, TIMEOUT_MS + 1000))).toBe(true);
});

test.each([SUCCESS, FAILURE, NEUTRAL])(
  'a late result of a superseded probe changes only the lifetime counts: $kind',
  (result) => {
    const first = letIn(OPEN, OVER);
    const now = later(OVER, TIMEOUT_MS + 1000);
    const second = letIn(first.breaker, now);
    const after = told(second.breaker, first.permit, result, { now });
    expect(after.state).toEqual(second.breaker.state);
    expect(after.health.consecutiveFails).toBe(5);
    expect(told(after, second.permit, SUCCESS, { now }).state.kind).toBe('closed');
  },
);

test('a probe that is released but not superseded still counts', () => {
  const { permit, breaker } = letIn(OPEN, OVER);
  const closed = told(breaker, permit, SUCCESS, { now: later(OVER, 5 * MINUTE_MS) });
  expect(closed.state.kind).toBe('closed');
});

test('a result that is recorded twice counts once for the state', () => {
  const { permit, breaker } = letIn(OPEN, OVER);
  const open = told(breaker, permit, FAILURE, { now: OVER });
  expect(told(open, permit, FAILURE, { now: OVER }).state).toEqual(open.state);
  expect(told(open, permit, SUCCESS, { now: OVER }).state).toEqual(open.state);
});

test('a probe that streams for longer than the timeout is not superseded', () => {
  const { permit, breaker } = letIn(OPEN, OVER);
  const begun = firstContent(breaker, permit, 100, { now: later(OVER, 100), limits: LIMITS });
  expect(isAdmitting(begun, later(OVER, 5 * MINUTE_MS))).toBe(false);
  expect(isAdmitting(begun, later(OVER, 11 * MINUTE_MS))).toBe(true);
});

test.each([
  ['success', SUCCESS],
  ['failure', FAILURE],
])(
  'a late %s of a request admitted before the breaker opened leaves the breaker as it is',
  (_, result) => {
    const { permit } = letIn(NEW_BREAKER, T0);
    const now = later(T0, 1000);
    const after = told(OPEN, permit, result, { now });
    expect(after.state).toEqual(OPEN.state);
    expect(after.health.consecutiveFails).toBe(5);
    expect(after.health.fails + after.health.successes).toBe(6);
  },
);

test('a late failure of a request admitted before the breaker opened and closed is not a consecutive failure', () => {
  const { permit } = letIn(NEW_BREAKER, T0);
  const closed = called(OPEN, SUCCESS, { now: OVER });
  expect(told(closed, permit, FAILURE, { now: OVER }).health).toMatchObject({
    fails: 6,
    consecutiveFails: 0,
  });
});

function slow(breaker: Breaker, ttftMs: number): Admitted {
  const admission = letIn(breaker, T0);
  const after = firstContent(admission.breaker, admission.permit, ttftMs, {
    now: T0,
    limits: LIMITS,
  });
  return { ...admission, breaker: after };
}

test('slow first contents in a row open the breaker, and a success of the last one does not close it', () => {
  const second = slow(slow(NEW_BREAKER, 5001).breaker, 9000);
  expect(second.breaker.state.kind).toBe('closed');
  const third = slow(second.breaker, 5001);
  expect(circuitReport(third.breaker, T0)).toMatchObject({
    open: true,
    cooldownRemainingMs: MINUTE_MS,
    consecutiveSlow: 3,
  });
  const ended = told(third.breaker, third.permit, SUCCESS, { now: later(T0, 1000) });
  expect(ended.state).toEqual(third.breaker.state);
});

test.each([5000, 10])('a first content after %d ms ends a row of slow ones', (ttftMs) => {
  const breaker = slow(slow(NEW_BREAKER, 5001).breaker, 5001).breaker;
  expect(slow(breaker, ttftMs).breaker).toMatchObject({
    state: { kind: 'closed' },
    health: { consecutiveSlow: 0, lastTtftMs: ttftMs },
  });
});

test('a slow probe that ends well closes the breaker', () => {
  const { permit, breaker } = letIn(OPEN, OVER);
  const begun = firstContent(breaker, permit, 9000, { now: OVER, limits: LIMITS });
  expect(begun.state.kind).toBe('probing');
  expect(told(begun, permit, SUCCESS, { now: OVER })).toMatchObject({
    state: { kind: 'closed' },
    health: { consecutiveSlow: 0 },
  });
});

test('a lowered threshold holds from the next failure on', () => {
  const limits = { ...LIMITS, failThreshold: 2 };
  const breaker = failedTimes(3);
  expect(isAdmitting(breaker, T0)).toBe(true);
  expect(called(breaker, FAILURE, { now: T0, limits }).state.kind).toBe('open');
});

test('a failure of a forced probe leaves the cool-down and its growth as they were', () => {
  const now = later(T0, 10_000);
  const { permit, breaker } = forceIn(OPEN, now);
  expect(circuitReport(breaker, now)).toMatchObject({ open: true, cooldownRemainingMs: 50_000 });
  const after = told(breaker, permit, FAILURE, { now: later(now, 1000) });
  expect(after.state).toEqual(OPEN.state);
  expect(after.health).toMatchObject({ fails: 6, consecutiveFails: 6 });
});

test('a success of a forced probe closes the breaker', () => {
  const { permit, breaker } = forceIn(OPEN, T0);
  expect(told(breaker, permit, SUCCESS, { now: T0 }).state.kind).toBe('closed');
});

test('a neutral result of a forced probe leaves the rest of the cool-down', () => {
  const { permit, breaker } = forceIn(OPEN, T0);
  const after = told(breaker, permit, NEUTRAL, { now: T0 });
  expect(admit(after, T0, TIMEOUT_MS)).toEqual({ kind: 'refused', waitMs: MINUTE_MS });
});

test('a forced probe that gets lost does not end the cool-down', () => {
  const { breaker } = admitted(admitForced(OPEN, T0, 1000));
  expect(admit(breaker, later(T0, 5000), TIMEOUT_MS)).toEqual({ kind: 'refused', waitMs: 55_000 });
  expect(forceIn(breaker, later(T0, 5000)).breaker.state).toMatchObject({ isForced: true });
});

test('a forced call after the cool-down is an ordinary probe', () => {
  const { permit, breaker } = forceIn(OPEN, OVER);
  expect(openingsOf(told(breaker, permit, FAILURE, { now: OVER }))).toBe(2);
});

test('a forced call to a closed breaker is an ordinary admission', () => {
  expect(forceIn(NEW_BREAKER, T0)).toEqual(letIn(NEW_BREAKER, T0));
});

test('a reset closes the breaker, forgets its rows, growth and probe, and keeps the lifetime counts', () => {
  const { permit, breaker } = letIn(
    called(sent(OPEN), FAILURE, { now: OVER }),
    later(OVER, 150_000),
  );
  const closed = reset(breaker);
  expect(circuitReport(closed, OVER)).toMatchObject({
    open: false,
    failUntil: null,
    consecutiveFails: 0,
    consecutiveSlow: 0,
    fails: 6,
    lastError: 'http_500: HTTP 500',
  });
  expect(closed.health.requests).toBe(1);
  expect(told(closed, permit, FAILURE, { now: OVER }).health.consecutiveFails).toBe(0);
  expect(openingsOf(failedTimes(5, closed))).toBe(1);
});

test('the cool-down goes on while the computer sleeps, though the monotonic clock stands still', () => {
  const awake = { ticks: T0.ticks + 5, wallMs: T0.wallMs + 8 * 60 * MINUTE_MS };
  expect(isAdmitting(OPEN, awake)).toBe(true);
});

test('a wall clock set back neither lengthens the cool-down nor shows its end far in the future', () => {
  const now = { ticks: T0.ticks + 10_000, wallMs: T0.wallMs - 60 * MINUTE_MS };
  expect(circuitReport(OPEN, now)).toMatchObject({
    cooldownRemainingMs: 50_000,
    failUntil: '2025-12-31T23:00:50.000Z',
  });
  expect(isAdmitting(OPEN, later(now, 50_000))).toBe(true);
});

test('the shown end of a cool-down stays the same while the clock ticks', () => {
  const shown = [0.2, 0.9, 1.4, 700.6, 30_000.3].map((ms) => {
    const wallMs = Math.floor(T0.wallMs + ms);
    return circuitReport(OPEN, { ticks: T0.ticks + ms, wallMs }).failUntil;
  });
  expect(new Set(shown)).toEqual(new Set(['2026-01-01T00:01:00.000Z']));
});

test('the circuit of a machine is shown without its time to first token', () => {
  const keys = Object.keys(providerCircuitReport(OPEN, T0));
  expect(Object.keys(circuitReport(OPEN, T0)).filter((key) => !keys.includes(key))).toEqual([
    'ewmaTtft',
    'lastTtftMs',
    'consecutiveSlow',
  ]);
});

test('a new breaker is shown as never used', () => {
  expect(circuitReport(NEW_BREAKER, T0)).toEqual({
    fails: 0,
    successes: 0,
    failUntil: null,
    lastError: null,
    lastFailAt: null,
    lastSuccessAt: null,
    consecutiveFails: 0,
    ewmaTtft: null,
    lastTtftMs: null,
    consecutiveSlow: 0,
    open: false,
    cooldownRemainingMs: 0,
  });
});

test('a moment has the time of both clocks', () => {
  const clock = createManualClock();
  clock.advance(1500);
  expect(dualTimeOf(clock)).toEqual({ ticks: 1500, wallMs: Date.UTC(2026, 0, 1) + 1500 });
});

test('a restart forgets the probe, and the next request is the probe', () => {
  const { breaker } = letIn(OPEN, OVER);
  const saved: unknown = JSON.parse(JSON.stringify(encodeBreaker(breaker, OVER)));
  const now = { ticks: 3, wallMs: OVER.wallMs + 1 };
  const restored = decodeBreaker(saved, now);
  expect(restored?.state).toMatchObject({ kind: 'open', consecutiveOpens: 1 });
  expect(isAdmitting(restored ?? NEW_BREAKER, now)).toBe(true);
});

test.each([null, undefined, 1, 'text', {}, [], { version: 2 }])(
  'a saved breaker that is %j is not read',
  (saved) => {
    expect(decodeBreaker(saved, T0)).toBeNull();
  },
);
