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
    ['healthy', upstream('local'), false],
    ['open', tripped('local', 9_000), true],
    ['cooled down', tripped('local', 0), true],
    ['failing', upstream('local', { circuit: circuit({ consecutiveFails: 1 }) }), true],
    ['skipped', skipped('hosted_a', 'quota', 9_000), true],
    [
      'answering again after failures',
      upstream('local', { circuit: circuit({ fails: 7 }) }),
      false,
    ],
  ])('a reset is offered for an upstream that is %s: %o', (_name, report, offered) => {
    expect(isResettable(report)).toBe(offered);
  });
});

describe('warm-up', () => {
  test('a warm-up is offered at ondemand alone, while that is neither warm nor warming up', () => {
    for (const state of WARMUP_STATES) {
      const given = [upstream('local'), upstream('ondemand')];
      const report = status(given, { ondemand_warmup: state });
      const offered = lineWith(given, { ondemand_warmup: state })
        .upstreams.filter((view) => isWarmable(view, report))
        .map((view) => view.report.id);
      expect(offered).toEqual(state === 'idle' || state === 'failed' ? ['ondemand'] : []);
    }
  });

  test('a warm-up is not offered while Local only is on', () => {
    const given = [upstream('ondemand')];
    const last = lineWith(given, { zero: true }).upstreams.at(-1);
    expect(last && isWarmable(last, status(given, { zero: true }))).toBe(false);
  });

  test('a warm-up is not offered where ondemand is not set up', () => {
    const last = lineWith([]).upstreams.at(-1);
    expect(last && isWarmable(last, status([]))).toBe(false);
  });
});

describe('Local only', () => {
  const given = [upstream('local'), upstream('hosted_a'), upstream('ondemand')];

  test('Local only shows every upstream that costs money as switched off', () => {
    const words = lineWith(given, { zero: true }).upstreams.map(upstreamWords);
    expect(words.map(({ word }) => word)).toEqual([
      'serving',
      'switched off',
      'not set up',
      'not set up',
      'switched off',
    ]);
  });

  test('Local only shows the upstreams behind the one that serves as switched off', () => {
    const { details } = headlineOf(lineWith(given, { zero: true }), false);
    expect(details.at(-1)).toMatch(/switched off/);
  });

  test('Local only names the way out where no upstream is left', () => {
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

  test('the cool-down ring shrinks from whole to nothing over the cool-down', () => {
    const over = { lastFailAt: at(0), failUntil: at(60_000) };
    expect(share(over, 60_000)).toBe(1);
    expect(share(over, 60_000, 45_000)).toBeCloseTo(0.25);
    expect(share(over, 60_000, 60_000)).toBeNull();
  });

  test('the cool-down ring is whole at the beginning of a doubled cool-down', () => {
    expect(share({ lastFailAt: at(0), failUntil: at(120_000) }, 120_000)).toBe(1);
  });

  test('the cool-down ring of a circuit that slowness opened ignores a failure of days ago', () => {
    const over = { consecutiveFails: 0, lastFailAt: at(-9e8), failUntil: at(30_000) };
    expect(share(over, 30_000)).toBe(0.5);
  });

  test('the cool-down ring does not grow with a late failure', () => {
    expect(share({ lastFailAt: at(0), failUntil: at(30_000) }, 30_000)).toBe(0.5);
  });
});
