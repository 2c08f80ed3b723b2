import type { Failure } from '../upstream/failure.ts';
import { later, type DualTime, remainingMs } from '../../platform/clock.ts';

/** Reasons that exclude a whole upstream for a time although its circuit admits. */
export const EXCLUSION_REASONS = ['rate_limited', 'quota', 'credentials', 'busy'] as const;

export type ExclusionReason = (typeof EXCLUSION_REASONS)[number];

export type Exclusion =
  | { readonly reason: ExclusionReason; readonly until: DualTime }
  | { readonly reason: 'model_not_found'; readonly model: string; readonly until: DualTime };

/** Of one upstream: one per reason and, for `model_not_found`, per model. */
export type Exclusions = readonly Exclusion[];

export const NO_EXCLUSIONS: Exclusions = [];

export interface RequestedExclusion {
  readonly reason: Exclusion['reason'];
  readonly ms: number;
}

/** The longest exclusion: even what only a person can fix is tried again after it. */
export const MAX_EXCLUSION_MS = 600_000;

/** The exclusion that a failure calls for; null when none. */
export function exclusionFor({
  reason,
  retryAfterMs,
}: Pick<Failure, 'reason' | 'retryAfterMs'>): RequestedExclusion | null {
  switch (reason) {
    case 'rate_limited':
      return { reason, ms: Math.min(Math.max(retryAfterMs ?? 15_000, 1000), MAX_EXCLUSION_MS) };
    case 'quota':
    case 'credentials':
      return { reason, ms: MAX_EXCLUSION_MS };
    case 'busy':
      return { reason, ms: 2000 };
    case 'model_not_found':
      return { reason, ms: 60_000 };
    default:
      return null;
  }
}

/** Callers choose the model names, so their number is bounded. */
export const MAX_EXCLUDED_MODELS = 50;

/** `model` is used for `model_not_found` only. An exclusion already in force never ends earlier. */
export function withExclusion(
  exclusions: Exclusions,
  requested: RequestedExclusion,
  model: string,
  now: DualTime,
): Exclusions {
  const until = later(now, requested.ms);
  const { reason } = requested;
  const added: Exclusion =
    reason === 'model_not_found' ? { reason, model, until } : { reason, until };
  const active = activeExclusions(exclusions, now);
  const known = active.find((each) => isSame(each, added));
  if (known === undefined) return withoutSurplus([...active, added], now);
  if (remainingMs(known.until, now) >= requested.ms) return active;
  return active.map((each) => (each === known ? added : each));
}

export function activeExclusions(exclusions: Exclusions, now: DualTime): Exclusions {
  return exclusions.filter(({ until }) => remainingMs(until, now) > 0);
}

/**
 * The exclusion that applies to a request for `model`, null when none does: the one that ends last, and `busy`
 * only where there is no other, because it alone may be overridden.
 */
export function findExclusion(
  exclusions: Exclusions,
  model: string,
  now: DualTime,
): Exclusion | null {
  const applicable = activeExclusions(exclusions, now).filter(
    (each) => each.reason !== 'model_not_found' || each.model === model,
  );
  const firm = applicable.filter(({ reason }) => reason !== 'busy');
  return byEnd(firm, now).at(-1) ?? applicable[0] ?? null;
}

function isSame(a: Exclusion, b: Exclusion): boolean {
  if (a.reason !== 'model_not_found' || b.reason !== 'model_not_found') {
    return a.reason === b.reason;
  }
  return a.model === b.model;
}

function withoutSurplus(exclusions: Exclusions, now: DualTime): Exclusions {
  const models = exclusions.filter(({ reason }) => reason === 'model_not_found');
  if (models.length <= MAX_EXCLUDED_MODELS) return exclusions;
  const surplus = byEnd(models, now)[0];
  return exclusions.filter((each) => each !== surplus);
}

function byEnd(exclusions: Exclusions, now: DualTime): Exclusions {
  return exclusions.toSorted((a, b) => remainingMs(a.until, now) - remainingMs(b.until, now));
}
