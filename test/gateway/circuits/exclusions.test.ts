import { expect, test } from 'vitest';
import type { FailureReason } from '#shared/reasons.ts';
import { exclusionFor } from '../../../main/gateway/circuits/circuits.ts';

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
