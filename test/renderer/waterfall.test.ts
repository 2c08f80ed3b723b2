import { describe, expect, test } from 'vitest';
import { FAILURE_REASONS, SKIP_REASONS } from '#shared/reasons.ts';
import {
  AXIS_TICKS_MS,
  axisPercent,
  elapsedOf,
  segmentsOf,
} from '../../renderer/features/requests/waterfall-model.ts';
import { attempt, NOW, request } from './builders.ts';

const kinds = (...args: Parameters<typeof segmentsOf>) =>
  segmentsOf(...args).map(({ kind }) => kind);

describe('time axis', () => {
  test('the axis starts at nought, grows, and never runs out of the picture', () => {
    expect(axisPercent(0)).toBe(0);
    const places = [1, 100, 1_000, 10_000, 100_000, 1e6, 1e9].map(axisPercent);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places.at(-1)).toBeCloseTo(100);
    for (const ms of AXIS_TICKS_MS) expect(axisPercent(ms)).toBeLessThan(100);
  });
});

describe('waterfall', () => {
  test('waiting ends where the first token comes', () => {
    const row = request('a', {
      attempts: [attempt({ firstContentMs: 300, endMs: 900 })],
    });
    const [waiting, answering] = segmentsOf(row, 900);
    expect(waiting).toMatchObject({ kind: 'waiting', left: 0, width: axisPercent(300) });
    expect(answering).toMatchObject({ kind: 'answering', left: axisPercent(300) });
  });

  test('stretches never overlap and never leave the axis, however many and short they are', () => {
    const attempts = Array.from({ length: 16 }, (_, index) =>
      attempt({ startMs: 179_000 + index, endMs: 179_001 + index, reason: 'unreachable' }),
    );
    const segments = segmentsOf(request('a', { attempts }), 180_000);
    for (const [index, { left, width }] of segments.entries()) {
      const before = segments[index - 1] ?? { left: 0, width: 0 };
      expect(left).toBeGreaterThanOrEqual(before.left + before.width - 1e-9);
      expect(width).toBeGreaterThan(0);
      expect(left + width).toBeLessThanOrEqual(100 + 1e-9);
    }
  });

  test('the stretches drawn so far stay where they are while the request runs', () => {
    const row = request('a', {
      state: 'running',
      endMs: null,
      attempts: [
        attempt({ endMs: 400, reason: 'timeout' }),
        attempt({ upstream: 'hosted_a', startMs: 400 }),
      ],
    });
    expect(segmentsOf(row, 9_000)[0]).toEqual(segmentsOf(row, 500)[0]);
    expect(segmentsOf(row, 9_000)[1]?.left).toBe(segmentsOf(row, 500)[1]?.left);
  });

  test('every failure is drawn as one, and every skip not at all', () => {
    for (const reason of [...FAILURE_REASONS, 'http_503' as const]) {
      expect(kinds(request('a', { attempts: [attempt({ endMs: 9, reason })] }), 9)).toEqual([
        'failed',
      ]);
    }
    for (const reason of SKIP_REASONS) {
      expect(kinds(request('a', { attempts: [attempt({ endMs: 0, reason })] }), 9)).toEqual([]);
    }
  });

  test('an answer that broke off does not look complete', () => {
    const attempts = [attempt({ firstContentMs: 5, endMs: 90 })];
    expect(kinds(request('a', { state: 'broken', attempts }), 90)).toEqual(['waiting', 'broken']);
  });

  test('waiting for an on-demand machine looks like nothing else', () => {
    const attempts = [attempt({ upstream: 'ondemand' })];
    expect(kinds(request('a', { state: 'running', endMs: null, attempts }), 90)).toEqual([
      'starting',
    ]);
  });

  test('a running request is as old as the clock of the gateway says', () => {
    const row = request('a', { startedAt: NOW - 4_000, endMs: null });
    expect(elapsedOf(row, NOW)).toBe(4_000);
  });

  test('a clock that lags behind never takes back what has happened', () => {
    const attempts = [attempt({ firstContentMs: 700 })];
    expect(elapsedOf(request('a', { startedAt: NOW, endMs: null, attempts }), NOW - 99)).toBe(700);
  });
});
