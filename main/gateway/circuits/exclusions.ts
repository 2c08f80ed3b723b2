import type { Failure } from '../upstream/failure.ts';
import { later, type DualTime, remainingMs } from './deadline.ts';

/** Why an upstream as a whole is left alone for a while although its circuit admits. */
export const EXCLUSION_REASONS = ['rate_limited', 'quota', 'credentials', 'busy'] as const;

export type ExclusionReason = (typeof EXCLUSION_REASONS)[number];

/** An upstream, or one model of it, is left alone until a deadline. */
export type Exclusion =
  | { readonly reason: ExclusionReason; readonly until: DualTime }
  | { readonly reason: 'model_not_found'; readonly model: string; readonly until: DualTime };

/** The skips of one upstream, one per reason and, for `model_not_found`, per model. */
export type Exclusions = readonly Exclusion[];

/** What there is at first, and after a reset or a change of key. */
export const NO_EXCLUSIONS: Exclusions = [];

/** A skip that a failure calls for; `model_not_found` is for one model, the others for the upstream. */
export interface RequestedExclusion {
  readonly reason: Exclusion['reason'];
  readonly ms: number;
}

/** The longest skip there is: what only a person mends is tried again after it. */
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

/** Callers choose model names, so their number needs a bound. */
export const MODELS_KEPT = 50;

/** Adds a skip, of `model` where it is for one model. One that is there already never ends earlier for it. */
export function withExclusion(
  skips: Exclusions,
  wanted: RequestedExclusion,
  model: string,
  now: DualTime,
): Exclusions {
  const until = later(now, wanted.ms);
  const { reason } = wanted;
  const added: Exclusion =
    reason === 'model_not_found' ? { reason, model, until } : { reason, until };
  const active = activeExclusions(skips, now);
  const known = active.find((skip) => isSame(skip, added));
  if (known === undefined) return withoutSurplus([...active, added], now);
  if (remainingMs(known.until, now) >= wanted.ms) return active;
  return active.map((skip) => (skip === known ? added : skip));
}

/** The skips that hold. */
export function activeExclusions(skips: Exclusions, now: DualTime): Exclusions {
  return skips.filter(({ until }) => remainingMs(until, now) > 0);
}

/**
 * The skip that keeps a request for `model` out, null when none does: the one that ends last, but
 * `busy` only where it is the only one, because it alone may be overridden.
 */
export function findExclusion(skips: Exclusions, model: string, now: DualTime): Exclusion | null {
  const held = activeExclusions(skips, now).filter(
    (skip) => skip.reason !== 'model_not_found' || skip.model === model,
  );
  const firm = held.filter(({ reason }) => reason !== 'busy');
  return byEnd(firm, now).at(-1) ?? held[0] ?? null;
}

function isSame(a: Exclusion, b: Exclusion): boolean {
  if (a.reason !== 'model_not_found' || b.reason !== 'model_not_found') {
    return a.reason === b.reason;
  }
  return a.model === b.model;
}

/** Without the model that would be back soonest, when there are too many. */
function withoutSurplus(skips: Exclusions, now: DualTime): Exclusions {
  const models = skips.filter(({ reason }) => reason === 'model_not_found');
  if (models.length <= MODELS_KEPT) return skips;
  const surplus = byEnd(models, now)[0];
  return skips.filter((skip) => skip !== surplus);
}

function byEnd(skips: Exclusions, now: DualTime): Exclusions {
  return skips.toSorted((a, b) => remainingMs(a.until, now) - remainingMs(b.until, now));
}
