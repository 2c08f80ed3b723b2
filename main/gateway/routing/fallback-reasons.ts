import type { UpstreamId } from '#shared/ids.ts';
import { type FallbackReason, OUTRUN } from '#shared/reasons.ts';
import type { Failure } from '../upstream/failure.ts';

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
export type UpstreamOutcome = Skipped | Failed | Outrun;

/**
 * The upstreams that may be asked although they are out, the one that comes back first in front. What a
 * person or a bill keeps out is never overridden.
 */
export function forcibleSoonestFirst(outcomes: readonly UpstreamOutcome[]): readonly Skipped[] {
  return outcomes
    .filter((outcome) => outcome.kind === 'skipped')
    .filter(({ reason }) => reason === 'circuit_open' || reason === 'busy')
    .toSorted((a, b) => (a.backAtTicks ?? 0) - (b.backAtTicks ?? 0));
}

/** What a request's answer is. */
export type AnsweredBy =
  | { readonly kind: 'nobody' }
  /** An upstream's answer; that upstream is not in the trail. */
  | { readonly kind: 'answer' }
  /** The own response of an upstream that was left, passed on. */
  | { readonly kind: 'passed'; readonly outcome: Failed };

/**
 * The `X-Gateway-Fallback-Reason` value: one entry per upstream left, in order, one per machine of the local
 * tier. An upstream whose own response is passed on was only left if another was asked after it.
 */
export function fallbackReason(outcomes: readonly UpstreamOutcome[], by: AnsweredBy): string {
  const entries = reportedOutcomes(outcomes, by).map(
    (outcome) => `${nameOf(outcome)}=${reasonOf(outcome)}`,
  );
  return entries.length === 0 ? 'none' : entries.join('; ');
}

function nameOf(outcome: UpstreamOutcome): string {
  const provider = outcome.kind === 'skipped' ? null : outcome.provider;
  return provider === null ? outcome.upstream : `${outcome.upstream}/${provider}`;
}

function reportedOutcomes(
  outcomes: readonly UpstreamOutcome[],
  by: AnsweredBy,
): readonly UpstreamOutcome[] {
  if (by.kind === 'nobody' && !outcomes.some(wasAttempted)) return outcomes;
  const passedAt = by.kind === 'passed' ? outcomes.indexOf(by.outcome) : -1;
  const isFinal = passedAt !== -1 && !outcomes.slice(passedAt + 1).some(wasAttempted);
  return (isFinal ? outcomes.slice(0, passedAt) : outcomes).filter(
    (outcome) => !isUnconfigured(outcome),
  );
}

/** Why an upstream was left. */
export function reasonOf(outcome: UpstreamOutcome): FallbackReason {
  switch (outcome.kind) {
    case 'failed':
      return outcome.failure.reason;
    case 'outrun':
      return OUTRUN;
    case 'skipped':
      return outcome.reason;
  }
}

/** True for an upstream that was asked and said no. */
export function wasAttempted(outcome: UpstreamOutcome): outcome is Failed {
  return outcome.kind === 'failed';
}

/** Upstreams that nobody set up are no news, but where there is no upstream at all they are the reason. */
export function isUnconfigured(outcome: UpstreamOutcome): boolean {
  return (
    outcome.kind === 'skipped' &&
    (outcome.reason === 'not_configured' || outcome.reason === 'disabled')
  );
}
