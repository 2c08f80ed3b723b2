import { describe, expect, test } from 'vitest';
import { describeServing, foldFacts } from '../../main/desktop/tray-state.ts';
import { createFakeHost, factsOf, type Scene, snapshotOf } from './fixtures.ts';
import { startDesktop } from './harness.ts';

const DOWN = { kind: 'failed', by: 'check', reason: 'unreachable' } as const;

const lineOf = (scene: Scene): string => describeServing(factsOf(scene)).line;

describe('the tray says in words what its icon says by shape', () => {
  test.each<[string, string, Scene]>([
    ['closed', 'Serving from Local', {}],
    ['fallback', 'Serving from Groq', { open: ['local'] }],
    ['fallback', 'Serving from Groq', { localHealth: 'unavailable' }],
    ['fallback', 'Serving from Together', { open: ['local'], skipped: { hosted_a: 'quota' } }],
    ['fallback', 'Serving from RunPod', { configured: ['ondemand'] }],
    ['fallback', 'RunPod is next (cold start)', { configured: ['ondemand'], warmup: 'idle' }],
    ['fallback', 'RunPod is starting up', { configured: ['ondemand'], warmup: 'warming' }],
    ['closed', 'Local is next, but untested', { sightings: { local: { kind: 'untested' } } }],
    ['fallback', 'Serving from Groq', { sightings: { local: DOWN } }],
    [
      'broken',
      'Nothing can answer: Local is unreachable',
      { configured: ['local'], sightings: { local: DOWN } },
    ],
    [
      'fallback',
      'Serving from Groq; this machine is paused',
      { open: ['local'], machine: 'paused' },
    ],
    ['paused', 'Serving from Local; this machine is draining', { machine: 'draining' }],
    [
      'paused',
      'Not serving: this machine is paused',
      { ok: false, configured: ['local'], localHealth: 'unavailable', machine: 'paused' },
    ],
    [
      'broken',
      'Serving from Local; Groq rejects your key',
      { skipped: { hosted_a: 'credentials' } },
    ],
    ['closed', 'Serving from Local', { forceZero: true }],
    ['off', 'Nothing is configured', { configured: [] }],
    [
      'broken',
      'Nothing can answer: Groq rejects your key',
      { ok: false, configured: ['hosted_a'], skipped: { hosted_a: 'credentials' } },
    ],
    [
      'broken',
      'Nothing can answer: Local has no machine that passed verification, and 1 more cannot',
      {
        ok: false,
        configured: ['local', 'hosted_a'],
        localHealth: 'unavailable',
        open: ['hosted_a'],
      },
    ],
    [
      'broken',
      'Nothing can answer: Local was too slow',
      { ok: false, forceZero: true, open: ['local'], localHealth: 'degraded' },
    ],
    [
      'broken',
      'Nothing can answer: “Local only” is on, and Local is not set up',
      { ok: false, forceZero: true, configured: ['hosted_a'] },
    ],
  ])('the tray state is the shape %s with the line: %s', (shape, line, scene) => {
    expect(describeServing(factsOf(scene))).toEqual({ shape, line, inFlight: 0 });
  });

  test('the tray state counts the requests in flight of all upstreams', () => {
    expect(lineOf({ inFlight: { local: 1, hosted_b: 2 } })).toBe(
      'Serving from Local · 3 in flight',
    );
  });

  test('a label of any length leaves the tray’s line short enough for a Windows tooltip', () => {
    const labels = { local: 'x'.repeat(500) };
    const scene: Scene = { labels, inFlight: { local: 1_000_000 } };
    expect(`Inglenook: ${lineOf(scene)}`.length).toBeLessThanOrEqual(127);
    expect(lineOf(scene)).toContain('1000000 in flight');
  });
});

test('a label in the tray is cut between characters, not within one', () => {
  const line = lineOf({ labels: { local: '🦙'.repeat(40) } });
  expect(line.isWellFormed()).toBe(true);
  expect(line).toMatch(/🦙…$/u);
});

async function firstLabel(label: string): Promise<string | undefined> {
  const { tray } = await startDesktop({ host: createFakeHost({ labels: { local: label } }) });
  return tray().menu.items[0]?.label;
}

test('a label in the tray that is written from right to left is shown as it is, without escapes', async () => {
  expect(await firstLabel('מנוע שלי')).toBe('Serving from מנוע שלי');
});

test('a menu label with & is shown as it is, not as an access key', async () => {
  expect(await firstLabel('R&D')).toBe('Serving from R&&D');
});

test('a delta from the live feed changes in the tray state what it names and nothing else', () => {
  const before = factsOf({});
  const { inFlight } = snapshotOf({ inFlight: { local: 4 } });
  const after = foldFacts(before, { kind: 'delta', inFlight, upsert: [], remove: [] }, 'paused');
  expect(after.machine).toBe('paused');
  expect(after.inFlight.local).toBe(4);
  expect(after.status).toBe(before.status);
  expect(after.app).toBe(before.app);
});
