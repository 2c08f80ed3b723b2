import { describe, expect, onTestFinished, test } from 'vitest';
import { openArena } from '../faults/arena.ts';
import type { History } from '../faults/history.ts';
import { createLeaseJudge, type LeaseRow } from '../faults/lease-log.ts';
import { POSTGRES_SKIPPED } from '../support/postgres.ts';

/* Random histories: npm run faults. */

/** Each ends while another one goes on, and the last two long after the database is back. */
const HISTORY: History = [
  { kind: 'gateway_upgraded', gateway: 2, atMs: 0, forMs: 300 },
  { kind: 'gateway_killed', gateway: 1, atMs: 300, forMs: 300 },
  { kind: 'database_stopped', atMs: 500, forMs: 1200 },
  { kind: 'way_cut', gateway: 0, atMs: 1000, forMs: 2700 },
  { kind: 'way_silent', gateway: 2, atMs: 1500, forMs: 2400 },
  { kind: 'database_killed', atMs: 2000, forMs: 300 },
];

test('the judge of leases finds one that two gateways have at once, and a fence that does not rise', () => {
  const row = { op: 'UPDATE', name: 'verify x', holder: 'a', fence: 1, at_ms: 0, until_ms: 10 };
  const judged = (...changes: readonly Partial<LeaseRow>[]) =>
    createLeaseJudge()(changes.map((change) => ({ ...row, ...change }) as LeaseRow)).length;
  const later = { holder: 'b', at_ms: 11, until_ms: 21, fence: 2 };
  expect(judged({}, later)).toBe(0);
  expect(judged({}, { ...later, at_ms: 9 })).toBe(1);
  expect(judged({ until_ms: null }, { ...later, at_ms: 9 })).toBe(0);
  expect(judged({}, { ...later, fence: 1 })).toBe(1);
  expect(judged({}, { op: 'DELETE' }, { ...later, op: 'INSERT', at_ms: 9 })).toBe(1);
});

// The machines have addresses of loopback of their own, which only Linux has unasked.
describe.runIf(POSTGRES_SKIPPED === null && process.platform === 'linux')('three gateways', () => {
  test('three gateways that are killed, cut off and upgraded lose nothing acknowledged, and callers notice nothing', async () => {
    // A tenth of the load of `npm run faults`.
    const arena = await openArena(7, 150);
    onTestFinished(() => arena.close());
    expect(await arena.play(HISTORY)).toEqual([]);
    const { acknowledged, served, leases } = arena.counts();
    expect(Math.min(acknowledged, served, leases)).toBeGreaterThan(20);
  });
});
