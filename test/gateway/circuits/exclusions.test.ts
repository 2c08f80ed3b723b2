import { expect, test } from 'vitest';
import type { FailureReason } from '#shared/reasons.ts';
import { type DualTime } from '../../../main/platform/clock.ts';
import {
  NO_EXCLUSIONS,
  type Exclusion,
  exclusionFor,
  findExclusion,
  type Exclusions,
  withExclusion,
} from '../../../main/gateway/circuits/exclusions.ts';

const NOW: DualTime = { ticks: 10, wallMs: Date.UTC(2026, 0, 1) };

test.each<[reason: FailureReason, retryAfterMs: number | null, ms: number | null]>([
  ['rate_limited', null, 15_000],
  ['rate_limited', 0, 1000],
  ['rate_limited', 999, 1000],
  ['rate_limited', 7000, 7000],
  ['rate_limited', 3_600_000, 600_000],
  ['quota', null, 600_000],
  ['quota', 5000, 600_000],
  ['credentials', null, 600_000],
  ['busy', null, 2000],
  ['busy', 30_000, 2000],
  ['model_not_found', null, 60_000],
  ['timeout', null, null],
  ['unreachable', null, null],
  ['bad_response', null, null],
  ['context_length', null, null],
  ['http_503', 5000, null],
])(
  'an upstream excluded as %s with a Retry-After of %j ms is skipped for %j ms',
  (reason, retryAfterMs, ms) => {
    expect(exclusionFor({ reason, retryAfterMs })).toEqual(ms === null ? null : { reason, ms });
  },
);

const skipped = (
  ...wanted: readonly (readonly [Exclusion['reason'], number, string?])[]
): Exclusions =>
  wanted.reduce<Exclusions>(
    (skips, [reason, ms, model = 'm']) => withExclusion(skips, { reason, ms }, model, NOW),
    NO_EXCLUSIONS,
  );

test('an exclusion runs out while the computer sleeps, and a clock set back does not lengthen it', () => {
  const skips = skipped(['quota', 600_000]);
  expect(findExclusion(skips, 'm', { ...NOW, wallMs: NOW.wallMs + 600_000 })).toBeNull();
  const setBack = { ticks: NOW.ticks + 600_000, wallMs: NOW.wallMs - 3_600_000 };
  expect(findExclusion(skips, 'm', setBack)).toBeNull();
});
