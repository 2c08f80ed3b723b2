import { z } from 'zod';
import { type DualTime, remainingMs } from '../../platform/clock.ts';
import { type Knowledge, plain } from '../memory/memory.ts';
import { EXCLUSION_REASONS, type ExclusionReason, TOPICS } from '../memory/topics.ts';
import type { Failure } from '../upstream/failure.ts';
export const exclusionCodec = plain(
  z.strictObject({ reason: z.enum(EXCLUSION_REASONS), model: z.string().nullable() }),
);

export interface RequestedExclusion {
  readonly reason: ExclusionReason;
  readonly ms: number;
}

/** The longest exclusion. */
const MAX_MS = TOPICS.left_alone.ms;

/** The exclusion that a failure calls for; null when none. */
export function exclusionFor({
  reason,
  retryAfterMs,
}: Pick<Failure, 'reason' | 'retryAfterMs'>): RequestedExclusion | null {
  switch (reason) {
    case 'rate_limited':
      return { reason, ms: Math.min(Math.max(retryAfterMs ?? 15_000, 1000), MAX_MS) };
    case 'quota':
    case 'credentials':
      return { reason, ms: MAX_MS };
    case 'busy':
      return { reason, ms: 2000 };
    case 'model_not_found':
      return { reason, ms: 60_000 };
    default:
      return null;
  }
}

export interface Exclusion {
  readonly reason: ExclusionReason;
  /** For `model_not_found` only. */
  readonly model: string | null;
  readonly until: DualTime;
}

/** Those in force. */
export function exclusionsIn(known: Knowledge): readonly Exclusion[] {
  return known
    .entries('left_alone')
    .flatMap(({ value, until }) => (until === null ? [] : [{ ...value, until }]));
}

/** `name` is used for `model_not_found` only. An exclusion already in force never ends earlier. */
export function exclude(
  known: Knowledge,
  { reason, ms }: RequestedExclusion,
  name: string,
  now: DualTime,
): void {
  const model = reason === 'model_not_found' ? name : null;
  const isSame = (each: Exclusion) => each.reason === reason && each.model === model;
  const before = exclusionsIn(known).find(isSame);
  if (before === undefined || remainingMs(before.until, now) < ms)
    known.set('left_alone', `${reason} ${model}`, { reason, model }, ms);
}

/**
 * The exclusion that applies to a request for `model`, null when none does: the one that ends last, and `busy`
 * only where there is no other, because it alone may be overridden.
 */
export function findExclusion(known: Knowledge, model: string, now: DualTime): Exclusion | null {
  if (known.count('left_alone') === 0) return null;
  const applicable = exclusionsIn(known).filter((each) => (each.model ?? model) === model);
  const firm = applicable
    .filter(({ reason }) => reason !== 'busy')
    .toSorted((a, b) => remainingMs(a.until, now) - remainingMs(b.until, now));
  return firm.at(-1) ?? applicable[0] ?? null;
}
