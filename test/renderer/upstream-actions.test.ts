import { describe, expect, test } from 'vitest';
import { type UpstreamReport, WARMUP_STATES } from '#shared/status.ts';
import { headlineOf } from '../../renderer/features/overview/headline.tsx';
import { upstreamWords } from '../../renderer/features/overview/upstream-card.tsx';
import { upstreamList } from '../../renderer/features/overview/upstream-list.ts';
import { isResettable, isWarmable } from '../../renderer/features/overview/upstream-track.tsx';
import { circuit, live, NOW, skipped, status, tripped, upstream } from './builders.ts';

type StatusOver = Parameters<typeof status>[1];

function lineWith(given: readonly UpstreamReport[], over: StatusOver = {}, afterMs = 0) {
  return upstreamList(live({ status: status(given, over) }), NOW + afterMs);
}

describe('reset', () => {
  test.each([
    ['sound', upstream('local'), false],
    ['open', tripped('local', 9_000), true],
    ['cooled down', tripped('local', 0), true],
    ['failing', upstream('local', { circuit: circuit({ consecutiveFails: 1 }) }), true],
    ['skipped', skipped('hosted_a', 'quota', 9_000), true],
    ['once failed, since answered', upstream('local', { circuit: circuit({ fails: 7 }) }), false],
  ])('%s: %o', (_name, report, offered) => {
    expect(isResettable(report)).toBe(offered);
  });
});

describe('warm-up', () => {
  test('is offered at the on-demand upstream alone, while it is neither warm nor warming', () => {
    for (const state of WARMUP_STATES) {
      const given = [upstream('local'), upstream('ondemand')];
      const report = status(given, { ondemand_warmup: state });
      const offered = lineWith(given, { ondemand_warmup: state })
        .upstreams.filter((view) => isWarmable(view, report))
        .map((view) => view.report.id);
      expect(offered).toEqual(state === 'idle' || state === 'failed' ? ['ondemand'] : []);
    }
  });

  test('is not offered while no money is to be spent', () => {
    const given = [upstream('ondemand')];
    const last = lineWith(given, { zero: true }).upstreams.at(-1);
    expect(last && isWarmable(last, status(given, { zero: true }))).toBe(false);
  });

  test('is not offered where nothing is set up', () => {
    const last = lineWith([]).upstreams.at(-1);
    expect(last && isWarmable(last, status([]))).toBe(false);
  });
});

describe('never spend money', () => {
  const given = [upstream('local'), upstream('hosted_a'), upstream('ondemand')];

  test('every upstream that costs money is switched off, by word', () => {
    const words = lineWith(given, { zero: true }).upstreams.map(upstreamWords);
    expect(words.map(({ word }) => word)).toEqual([
      'serving',
      'switched off',
      'not set up',
      'not set up',
      'switched off',
    ]);
  });

  test('what stands behind the one that serves is said to be switched off', () => {
    const { details } = headlineOf(lineWith(given, { zero: true }), false);
    expect(details.at(-1)).toMatch(/switched off/);
  });

  test('where nobody is left, the way out is named', () => {
    const out = lineWith([tripped('local', 9_000), upstream('hosted_a')], { zero: true });
    expect(headlineOf(out, true).problems.at(-1)?.todo).toMatch(/Local only/);
  });
});

describe('the cool-down ring', () => {
  const share = (over: Parameters<typeof circuit>[0], remainingMs: number, afterMs = 0) => {
    const condition = lineWith([tripped('local', remainingMs, over)], {}, afterMs).upstreams[0]
      ?.condition;
    return condition?.kind === 'cooling' ? condition.share : null;
  };
  const at = (ms: number) => new Date(NOW + ms).toISOString();

  test('shrinks from whole to nothing over the cool-down', () => {
    const over = { lastFailAt: at(0), failUntil: at(60_000) };
    expect(share(over, 60_000)).toBe(1);
    expect(share(over, 60_000, 45_000)).toBeCloseTo(0.25);
    expect(share(over, 60_000, 60_000)).toBeNull();
  });

  test('a doubled cool-down is whole at its own beginning', () => {
    expect(share({ lastFailAt: at(0), failUntil: at(120_000) }, 120_000)).toBe(1);
  });

  test('a failure of days ago says nothing about a breaker that slowness opened', () => {
    const over = { consecutiveFails: 0, lastFailAt: at(-9e8), failUntil: at(30_000) };
    expect(share(over, 30_000)).toBe(0.5);
  });

  test('a late failure does not make the ring grow', () => {
    expect(share({ lastFailAt: at(0), failUntil: at(30_000) }, 30_000)).toBe(0.5);
  });
});
