import type { UpstreamId } from '#shared/ids.ts';
import type { FallbackReason } from '#shared/reasons.ts';
import type { Failure } from './outcomes.ts';

/** An upstream that was not asked. */
export interface Skipped {
  readonly kind: 'skipped';
  readonly upstream: UpstreamId;
  readonly reason: FallbackReason;
  /** When it lets in again, at the latest; null: waiting does not help. */
  readonly waitMs: number | null;
}

/** An upstream that was asked and did not give the answer. */
export interface Failed {
  readonly kind: 'failed';
  readonly upstream: UpstreamId;
  readonly failure: Failure;
}

/** One upstream that was left. */
export type Left = Skipped | Failed;

/**
 * The upstreams that may be asked although they are out, the one that comes back first in front:
 * none once somebody was asked. What a person or a bill keeps out is never overridden (design 4).
 */
export function soonestFirst(trail: readonly Left[]): readonly Skipped[] {
  if (trail.some(wasTried)) return [];
  return trail
    .filter((left) => left.kind === 'skipped')
    .filter(({ reason }) => reason === 'circuit_open' || reason === 'busy')
    .toSorted((a, b) => (a.waitMs ?? 0) - (b.waitMs ?? 0));
}

/**
 * The `X-Gateway-Fallback-Reason` value: one entry per upstream left, in order.
 * An upstream whose own response is passed on was only left if another was asked after it.
 */
export function fallbackReason(trail: readonly Left[], answeredBy: UpstreamId | null): string {
  const entries = leftFor(trail, answeredBy).map((left) => `${left.upstream}=${reasonOf(left)}`);
  return entries.length === 0 ? 'none' : entries.join('; ');
}

function leftFor(trail: readonly Left[], answeredBy: UpstreamId | null): readonly Left[] {
  const nothingTried = answeredBy === null && !trail.some(wasTried);
  if (nothingTried) return trail;
  const answer = trail.findIndex(({ upstream }) => upstream === answeredBy);
  const isFinal = answer !== -1 && !trail.slice(answer + 1).some(wasTried);
  return (isFinal ? trail.slice(0, answer) : trail).filter((left) => !isSilent(left));
}

/** Why an upstream was left. */
export function reasonOf(left: Left): FallbackReason {
  return left.kind === 'failed' ? left.failure.reason : left.reason;
}

/** True for an upstream that was asked. */
export function wasTried(left: Left): left is Failed {
  return left.kind === 'failed';
}

/** Upstreams that nobody set up are no news, but where there is no upstream at all they are the reason. */
export function isSilent(left: Left): boolean {
  return (
    left.kind === 'skipped' && (left.reason === 'not_configured' || left.reason === 'disabled')
  );
}
