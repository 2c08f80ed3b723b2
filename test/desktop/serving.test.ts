import { describe, expect, test } from 'vitest';
import { menuTemplate } from '../../main/desktop/menus.ts';
import { describeServing, foldFacts } from '../../main/desktop/serving-summary.ts';
import { factsOf, type Scene, snapshotOf } from './fixtures.ts';

const lineOf = (scene: Scene): string => describeServing(factsOf(scene)).line;

describe('the tray says in words what its icon says by shape', () => {
  test.each<[string, string, Scene]>([
    ['closed', 'Serving from Local', {}],
    ['fallback', 'Serving from Groq', { open: ['local'] }],
    ['fallback', 'Serving from Groq', { localHealth: 'unavailable' }],
    ['fallback', 'Serving from Together', { open: ['local'], skipped: { hosted_a: 'quota' } }],
    ['fallback', 'Serving from RunPod', { configured: ['ondemand'] }],
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
      'Serving from Local; Groq refuses our key',
      { skipped: { hosted_a: 'credentials' } },
    ],
    ['closed', 'Serving from Local', { forceZero: true }],
    ['off', 'Nothing is configured', { configured: [] }],
    [
      'broken',
      'Not serving: Groq refuses our key',
      { ok: false, configured: ['hosted_a'], skipped: { hosted_a: 'credentials' } },
    ],
    [
      'broken',
      'Not serving: Local has no machine that can serve, and 1 more cannot serve',
      {
        ok: false,
        configured: ['local', 'hosted_a'],
        localHealth: 'unavailable',
        open: ['hosted_a'],
      },
    ],
    [
      'broken',
      'Not serving: Local keeps failing',
      { ok: false, forceZero: true, open: ['local'], localHealth: 'degraded' },
    ],
    [
      'broken',
      'Not serving: only Local may serve in zero-spend mode, and there is none',
      { ok: false, forceZero: true, configured: ['hosted_a'] },
    ],
  ])('%s: %s', (shape, line, scene) => {
    expect(describeServing(factsOf(scene))).toEqual({ shape, line, inFlight: 0 });
  });

  test('requests of all upstreams are in flight', () => {
    expect(lineOf({ inFlight: { local: 1, hosted_b: 2 } })).toBe(
      'Serving from Local · 3 in flight',
    );
  });

  test('a label of any length leaves the line short enough for a Windows tooltip', () => {
    const labels = { local: 'x'.repeat(500) };
    const scene: Scene = { labels, inFlight: { local: 1_000_000 } };
    expect(`Switchyard: ${lineOf(scene)}`.length).toBeLessThanOrEqual(127);
    expect(lineOf(scene)).toContain('1000000 in flight');
  });
});

test('a label with & is shown as it is, not as an access key', () => {
  const [item] = menuTemplate([{ kind: 'text', text: 'R&D' }], () => undefined);
  expect(item?.label).toBe('R&&D');
});

test('a delta changes what it names and nothing else', () => {
  const before = factsOf({});
  const { inFlight } = snapshotOf({ inFlight: { local: 4 } });
  const after = foldFacts(before, { kind: 'delta', inFlight, upsert: [], remove: [] }, 'paused');
  expect(after.machine).toBe('paused');
  expect(after.inFlight.local).toBe(4);
  expect(after.status).toBe(before.status);
  expect(after.app).toBe(before.app);
});
