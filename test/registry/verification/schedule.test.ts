import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type StoredVerification, UNVERIFIED } from '../../../main/registry/store/store.ts';
import {
  planOf,
  remembered,
  type RunMemory,
  withEnd,
  withNews,
  withStart,
} from '../../../main/registry/verification/schedule.ts';

const MINUTE = 60_000;
const VERIFIED: StoredVerification = {
  ...UNVERIFIED,
  state: 'verified',
  lastCheckAt: 0,
  lastInferenceAt: 0,
};
const failed = (failedRuns: number): StoredVerification => ({
  ...UNVERIFIED,
  state: 'failed',
  failedRuns,
});

/** Ran from 0 to 0. */
const RAN: RunMemory = {
  startedTicks: 0,
  finishedTicks: 0,
  provenTicks: 0,
  deferred: false,
  leftOut: false,
  testedTicks: 0,
  testedChanges: null,
  pulled: false,
  requested: false,
  hasFailedRequest: false,
};
const plan = (verification: StoredVerification, memory: RunMemory = RAN, nowTicks = 0) =>
  planOf(verification, memory, nowTicks);

test('a test inference is left out if no model is loaded, and is due again with the next light run', () => {
  expect(plan(VERIFIED, RAN, 31 * MINUTE).inference).toBe('if_loaded');
  const run = {
    deferred: false,
    leftOut: true,
    inference: 'none',
    materialChanges: 0,
  } as const;
  const after = withEnd(RAN, run, 31 * MINUTE);
  expect(plan(VERIFIED, after, 31 * MINUTE).dueInMs).toBe(5 * MINUTE);
  expect(plan(VERIFIED, after, 36 * MINUTE).inference).toBe('if_loaded');
});

test.each(['enrolled', 'material', 'engineHealth', 'rebooted', 'returned'] as const)(
  'news (%s) brings a run forward, at most once a minute after a test inference',
  (kind) => {
    const news = withNews(RAN, [kind]);
    expect(plan(VERIFIED, news, 10_000).dueInMs).toBe(50_000);
    expect(plan(failed(6), news, 2 * MINUTE).dueInMs).toBe(0);
    expect(plan(VERIFIED, withStart(news, MINUTE), MINUTE).dueInMs).toBe(4 * MINUTE);
  },
);

test('news brings a run forward to a second after one without a test inference, or to 15 s for a verified machine', () => {
  const untested = { ...RAN, testedTicks: null };
  const news = withNews(untested, ['material']);
  for (const verification of [UNVERIFIED, failed(1), failed(6)]) {
    expect(plan(verification, news, 400).dueInMs).toBe(600);
    expect(plan(verification, news, 1000).dueInMs).toBe(0);
  }
  expect(plan(VERIFIED, news, 1000).dueInMs).toBe(14_000);
  expect(plan(UNVERIFIED, untested).dueInMs).toBe(15_000);
  expect(plan(UNVERIFIED, RAN).dueInMs).toBe(MINUTE);
});

const ticks = fc.option(fc.integer({ min: 0, max: 10_000_000 }));
const anyMemory: fc.Arbitrary<RunMemory> = fc.record({
  startedTicks: ticks,
  finishedTicks: ticks,
  provenTicks: ticks,
  deferred: fc.boolean(),
  leftOut: fc.boolean(),
  testedTicks: ticks,
  testedChanges: fc.constant(null),
  pulled: fc.boolean(),
  requested: fc.constant(false),
  hasFailedRequest: fc.boolean(),
});
const anyVerification: fc.Arbitrary<StoredVerification> = fc.oneof(
  fc.constant(UNVERIFIED),
  fc.nat(2).map((failedRuns) => ({ ...VERIFIED, failedRuns })),
  fc.integer({ min: 1, max: 20 }).map(failed),
);

const anyRun = fc.record({
  deferred: fc.boolean(),
  inference: fc.constantFrom('passed', 'failed', 'none'),
  materialChanges: fc.nat(3),
});

test('no machine is due again within 15 s after a run, and every machine within 30 min', () => {
  fc.assert(
    fc.property(anyVerification, anyMemory, anyRun, (verification, memory, run) => {
      const at = 20_000_000;
      const { leftOut } = memory;
      const ended = withEnd(withStart(memory, at), { ...run, leftOut }, at);
      const { dueInMs } = plan(verification, ended, at);
      expect(dueInMs).toBeGreaterThanOrEqual(15_000);
      expect(dueInMs).toBeLessThanOrEqual(30 * MINUTE);
      const pulled = plan(verification, withNews(ended, ['material']), at);
      expect(pulled.dueInMs).toBeLessThanOrEqual(MINUTE);
    }),
    { numRuns: 400 },
  );
});

const life = fc.array(
  fc.record({ quietMs: fc.nat(90_000), runMs: fc.nat(20_000), hasModel: fc.boolean() }),
  { maxLength: 30 },
);

test('a machine’s test inferences begin a minute apart and the next run 15 s after one, however often it changes', () => {
  fc.assert(
    fc.property(life, (moments) => {
      let memory = remembered(UNVERIFIED, { ticks: 0, wallMs: 0 });
      let [now, ranAt, testedAt] = [0, -Infinity, -Infinity];
      for (const { quietMs, runMs, hasModel } of moments) {
        memory = withNews(memory, ['material']);
        now += quietMs;
        now += plan(UNVERIFIED, memory, now).dueInMs;
        expect(now - ranAt).toBeGreaterThanOrEqual(ranAt === testedAt ? 15_000 : 1000);
        ranAt = now;
        memory = withStart(memory, now);
        const tested = hasModel && plan(UNVERIFIED, memory, now).inference === 'run';
        expect(now - testedAt).toBeGreaterThanOrEqual(tested ? MINUTE : 0);
        if (tested) testedAt = now;
        now += runMs;
        const inference = tested ? 'passed' : 'none';
        const run = { deferred: false, leftOut: false, materialChanges: 0 };
        memory = withEnd(memory, { ...run, inference }, now);
      }
    }),
  );
});
