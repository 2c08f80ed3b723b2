import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { createCircuits } from '../../main/gateway/circuits/circuits.ts';
import { createManualClock } from '../support/clock.ts';
import type { Ask, Behaviour } from '../properties/routing-table.ts';
import { createMemoryWorld } from '../properties/routing-worlds.ts';
import { UNWATCHED } from '../support/circuits.ts';

const ids = new Set(UPSTREAM_IDS);
const FAILURES: readonly Behaviour[] = [
  'refused',
  '503',
  '500',
  'timeout',
  'cut',
  '404 model',
  '429 short',
  '400 context',
];

function failing(n: number): Ask {
  const meets = Object.fromEntries(
    UPSTREAM_IDS.map((id, index) => [id, FAILURES[(n + index) % FAILURES.length]]),
  ) as Record<UpstreamId, Behaviour>;
  return { kind: 'ask', meets, again: '503', model: `m${n}`, stream: n % 3 === 0, zero: false };
}

/** Bytes in use once everything that can go is gone. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

const MIB = 2 ** 20;

test('two thousand failing requests, each for another model, leave nothing behind', async () => {
  const world = createMemoryWorld(ids);
  const play = async (from: number, to: number) => {
    for (let n = from; n < to; n += 1) {
      await world.act(failing(n));
      await world.act({ kind: 'pass', ms: 20 });
    }
  };
  await play(0, 500);
  const timers = world.timers();
  const before = heapUsed();
  await play(500, 2000);
  expect(heapUsed() - before).toBeLessThan(MIB);
  expect(world.rows()).toHaveLength(100);
  for (const { attempts } of world.rows()) expect(attempts.length).toBeLessThanOrEqual(16);
  expect(world.timers()).toBeLessThanOrEqual(timers);
  const { upstreams, stats } = await world.status();
  expect(stats.totalRequests).toBe(2000);
  for (const { skips } of upstreams) expect(skips.length).toBeLessThanOrEqual(54);
});

test('two hundred unknown models leave 50 exclusions per upstream', async () => {
  const world = createMemoryWorld(ids);
  const meets = Object.fromEntries(UPSTREAM_IDS.map((id) => [id, '404 model'])) as Ask['meets'];
  for (let n = 0; n < 200; n += 1) await world.act({ ...failing(n), meets });
  const { upstreams } = await world.status();
  expect(upstreams.map(({ skips }) => skips.length)).toEqual([50, 50, 50, 50, 50]);
});

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
      clock,
      random: () => dice,
      config: () => ({ circuit: limits }),
      ...UNWATCHED,
      opened() {},
    });
    const cooldownAfterFailure = () => {
      const entry = circuits.admit('x', { model: '', timeoutMs: 1000 }, circuits.epoch());
      if (entry.kind === 'excluded') throw new Error(entry.reason);
      const costMs = Number.POSITIVE_INFINITY;
      circuits.record('x', entry.permit, { kind: 'failure', error: '', silentMs: 0, costMs });
      const next = circuits.admit('x', { model: '', timeoutMs: 1000 }, circuits.epoch());
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
