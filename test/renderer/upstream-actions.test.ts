import { expect, test } from 'vitest';
import { type UpstreamReport, WARMUP_STATES } from '#shared/status.ts';
import { headlineOf } from '../../renderer/features/overview/headline.tsx';
import { upstreamWords } from '../../renderer/features/overview/upstream-card.tsx';
import { upstreamList } from '../../renderer/features/overview/upstream-list.ts';
import { isPaused, isWarmable } from '../../renderer/features/overview/upstream-track.tsx';
import { live, NOW, skipped, status, tripped, upstream } from './builders.ts';

type StatusOver = Parameters<typeof status>[1];

function lineWith(given: readonly UpstreamReport[], over: StatusOver = {}, afterMs = 0) {
  return upstreamList(live({ status: status(given, over) }), NOW + afterMs);
}

test('“Try again now” is offered at a source that requests skip, unless its budget is spent', () => {
  const given = [
    tripped('local', 9_000),
    skipped('hosted_a', 'rate_limited', 9_000),
    skipped('hosted_b', 'budget', 9_000),
    tripped('hosted_c', 0),
  ];
  const offered = lineWith(given).upstreams.filter(isPaused);
  expect(offered.map(({ report }) => report.id)).toEqual(['local', 'hosted_a']);
});

test('a start is offered at ondemand alone, while that neither runs nor starts', () => {
  for (const state of WARMUP_STATES) {
    const given = [upstream('local'), upstream('ondemand')];
    const report = status(given, { ondemand_warmup: state });
    const offered = lineWith(given, { ondemand_warmup: state })
      .upstreams.filter((view) => isWarmable(view, report))
      .map((view) => view.report.id);
    expect(offered).toEqual(state === 'idle' || state === 'failed' ? ['ondemand'] : []);
  }
});

const ALL = [upstream('local'), upstream('hosted_a'), upstream('ondemand')];

test('every upstream that costs money is shown as switched off while none may be spent', () => {
  const words = lineWith(ALL, { zero: true }).upstreams.map(upstreamWords);
  expect(words.map(({ word }) => word)).toEqual([
    'serving',
    'switched off',
    'not set up',
    'not set up',
    'switched off',
  ]);
});

test('the way out is named if only what costs money could answer', () => {
  const out = lineWith([tripped('local', 9_000), upstream('hosted_a')], { zero: true });
  expect(headlineOf(out, true).problems.at(-1)?.what).toMatch(/Never spend money/);
});
