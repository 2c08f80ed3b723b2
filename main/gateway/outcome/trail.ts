import type { UpstreamId } from '#shared/ids.ts';
import { OUTRUN, type FallbackReason } from '#shared/reasons.ts';
import type { Failure } from './outcomes.ts';

/** An upstream that was not asked. */
export interface Skipped {
  readonly kind: 'skipped';
  readonly upstream: UpstreamId;
  readonly reason: FallbackReason;
  /** When it lets in again, at the latest; null: waiting does not help. */
  readonly waitMs: number | null;
  /** The same in clock ticks. */
  readonly backAtTicks: number | null;
}

/** An upstream that was asked and did not give the answer. */
export interface Failed {
  readonly kind: 'failed';
  readonly upstream: UpstreamId;
  /** The machine of the local tier that was asked; null elsewhere. */
  readonly provider: string | null;
  readonly failure: Failure;
}

/** An upstream that was asked and was not waited for: another one's content came first. */
export interface Outrun {
  readonly kind: 'outrun';
  readonly upstream: UpstreamId;
  readonly provider: string | null;
}

/** One upstream that was left. */
export type Left = Skipped | Failed | Outrun;

/**
 * The upstreams that may be asked although they are out, the one that comes back first in front. What a
 * person or a bill keeps out is never overridden (design 4).
 */
export function soonestFirst(trail: readonly Left[]): readonly Skipped[] {
  return trail
    .filter((left) => left.kind === 'skipped')
    .filter(({ reason }) => reason === 'circuit_open' || reason === 'busy')
    .toSorted((a, b) => (a.backAtTicks ?? 0) - (b.backAtTicks ?? 0));
}

/** What a request's answer is. */
export type AnsweredBy =
  | { readonly kind: 'nobody' }
  /** An upstream's answer; that upstream is not in the trail. */
  | { readonly kind: 'answer' }
  /** The own response of an upstream that was left, passed on. */
  | { readonly kind: 'passed'; readonly left: Failed };

/**
 * The `X-Gateway-Fallback-Reason` value: one entry per upstream left, in order, one per machine of the local
 * tier. An upstream whose own response is passed on was only left if another was asked after it.
 */
export function fallbackReason(trail: readonly Left[], by: AnsweredBy): string {
  const entries = leftFor(trail, by).map((left) => `${nameOf(left)}=${reasonOf(left)}`);
  return entries.length === 0 ? 'none' : entries.join('; ');
}

function nameOf(left: Left): string {
  const provider = left.kind === 'skipped' ? null : left.provider;
  return provider === null ? left.upstream : `${left.upstream}/${provider}`;
}

function leftFor(trail: readonly Left[], by: AnsweredBy): readonly Left[] {
  if (by.kind === 'nobody' && !trail.some(wasTried)) return trail;
  const passedAt = by.kind === 'passed' ? trail.indexOf(by.left) : -1;
  const isFinal = passedAt !== -1 && !trail.slice(passedAt + 1).some(wasTried);
  return (isFinal ? trail.slice(0, passedAt) : trail).filter((left) => !isSilent(left));
}

/** Why an upstream was left. */
export function reasonOf(left: Left): FallbackReason {
  switch (left.kind) {
    case 'failed':
      return left.failure.reason;
    case 'outrun':
      return OUTRUN;
    case 'skipped':
      return left.reason;
  }
}

/** True for an upstream that was asked and said no. */
export function wasTried(left: Left): left is Failed {
  return left.kind === 'failed';
}

/** Upstreams that nobody set up are no news, but where there is no upstream at all they are the reason. */
export function isSilent(left: Left): boolean {
  return (
    left.kind === 'skipped' && (left.reason === 'not_configured' || left.reason === 'disabled')
  );
}
