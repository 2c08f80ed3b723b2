import { describe, expect, onTestFinished, test } from 'vitest';
import { openArena } from '../faults/arena.ts';
import type { History } from '../faults/history.ts';
import { createLeaseJudge, type LeaseRow } from '../faults/lease-log.ts';
import { startFleet } from '../faults/machines.ts';
import { CHAT } from '../support/client.ts';
import { postJson } from '../support/http.ts';
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

test('the judge of leases finds that no gateway takes the sweep, from what one that is there does meanwhile', () => {
  const sweep = { op: 'UPDATE', name: 'sweep', holder: 'a', fence: 1, at_ms: 0, until_ms: 10_000 };
  const report = { ...sweep, op: 'REPORT', name: '', holder: 'b', until_ms: null };
  const judged = (...reportsMs: readonly number[]) =>
    createLeaseJudge()([sweep, ...reportsMs.map((at_ms) => ({ ...report, at_ms }))] as LeaseRow[]);
  const every2s = (from: number) => [0, 1, 2, 3, 4, 5].map((n) => from + 2000 * n);
  expect(judged(...every2s(10_001))).toEqual([expect.stringMatching(/^no gateway .* b reported/)]);
  // It was held for a while, or no gateway was there for as long as it was free.
  expect(judged(...every2s(8000))).toEqual([]);
  expect(judged(90_000, 92_000)).toEqual([]);
});

// The machines have addresses of loopback of their own, which only Linux has unasked.
describe.runIf(POSTGRES_SKIPPED === null && process.platform === 'linux')('three gateways', () => {
  test('a machine finds two verifications at once, except where no process had time to end one', async () => {
    const judged: boolean[] = [];
    let isStarved = true;
    const wasStarved = () => {
      judged.push(isStarved);
      return isStarved;
    };
    const [machine] = await startFleet(1, { holdMs: () => 60_000, wasStarved });
    onTestFinished(() => machine?.close());
    const probe = { messages: [{ role: 'user', content: 'Say OK.' }] };
    const url = machine?.record().agent_url + CHAT;
    const verify = () => void postJson(url, probe, { 'x-gateway-token': 't' }).catch(() => {});
    verify();
    await expect.poll(() => machine?.inferences.all).toBe(1);
    verify();
    await expect.poll(() => judged).toEqual([true]);
    expect(machine?.inferences.overlaps).toBe(0);
    isStarved = false;
    verify();
    await expect.poll(() => machine?.inferences.overlaps).toBe(1);
  });

  test('three gateways that are killed, cut off and upgraded lose nothing acknowledged, and callers notice nothing', async () => {
    // A tenth of the load of `npm run faults`.
    const arena = await openArena(7, 150);
    onTestFinished(() => arena.close());
    expect(await arena.play(HISTORY)).toEqual([]);
    const { acknowledged, served, leases } = arena.counts();
    expect(Math.min(acknowledged, served, leases)).toBeGreaterThan(20);
  });
});
