import type { UpstreamId } from '#shared/ids.ts';
import { type FallbackReason, OUTRUN } from '#shared/reasons.ts';
import type { Failure } from '../upstream/failure.ts';

export interface Skipped {
  readonly kind: 'skipped';
  readonly upstream: UpstreamId;
  readonly reason: FallbackReason;
  /** Until a call is admitted again, at the latest; null: waiting does not help. */
  readonly waitMs: number | null;
  /** The end of that time in clock ticks. */
  readonly backAtTicks: number | null;
  /** The cause for each machine of the local pool, where none can be called. */
  readonly causes?: () => string;
}

export interface Failed {
  readonly kind: 'failed';
  readonly upstream: UpstreamId;
  /** The machine of the local pool; null elsewhere. */
  readonly provider: string | null;
  readonly failure: Failure;
}

/** Ended because the content of the other of two hedged calls came first. */
export interface HedgeLost {
  readonly kind: 'hedge_lost';
  readonly upstream: UpstreamId;
  readonly provider: string | null;
}

/** Why one upstream did not give the answer. */
export type UpstreamOutcome = Skipped | Failed | HedgeLost;

/**
 * Excluded upstreams that may be forced, soonest first. A rate limit, a quota, refused credentials and the
 * owner's settings are never overridden.
 */
export function forcibleSoonestFirst(outcomes: readonly UpstreamOutcome[]): readonly Skipped[] {
  return outcomes
    .filter((outcome) => outcome.kind === 'skipped')
    .filter(({ reason }) => reason === 'circuit_open' || reason === 'busy')
    .toSorted((a, b) => (a.backAtTicks ?? 0) - (b.backAtTicks ?? 0));
}

/** When `local` may be called once more. */
export interface LocalReturn {
  /** In clock ticks. */
  readonly at: number;
  /** The machine of the local pool that said so; null for a fixed engine. */
  readonly provider: string | null;
}

/** The earlier of what is known and what a failure of `local` says. */
export function returnAfter(
  known: LocalReturn | null,
  { reason, retryAfterMs }: Pick<Failure, 'reason' | 'retryAfterMs'>,
  provider: string | null,
  nowTicks: number,
): LocalReturn | null {
  const isFull = reason === 'rate_limited' || reason === 'busy';
  if (!isFull || retryAfterMs === null) return known;
  const at = nowTicks + retryAfterMs;
  return known === null || at < known.at ? { at, provider } : known;
}

/** When a `local` that was not called, because of what it told an earlier request, may be called; null: unknown. */
export function returnAfterSkip(outcomes: readonly UpstreamOutcome[]): number | null {
  const local = outcomes.find(({ upstream }) => upstream === 'local');
  return local?.kind === 'skipped' && local.reason === 'rate_limited' ? local.backAtTicks : null;
}

/** What the caller receives. */
export type AnsweredBy =
  | { readonly kind: 'gateway_error' }
  /** An upstream's answer; that upstream is not among the outcomes. */
  | { readonly kind: 'answer' }
  /** The error response of an upstream, passed on. */
  | { readonly kind: 'passed'; readonly outcome: Failed };

/**
 * The `X-Gateway-Fallback-Reason` value: one entry per upstream, one per machine of the local pool, in
 * order. An upstream whose own response is passed on is listed only if another was called after it.
 */
export function fallbackReason(outcomes: readonly UpstreamOutcome[], by: AnsweredBy): string {
  const entries = reportedOutcomes(outcomes, by).map(
    (outcome) => `${nameOf(outcome)}=${reasonOf(outcome)}`,
  );
  return entries.length === 0 ? 'none' : entries.join('; ');
}

function reportedOutcomes(
  outcomes: readonly UpstreamOutcome[],
  by: AnsweredBy,
): readonly UpstreamOutcome[] {
  if (by.kind === 'gateway_error' && !outcomes.some(wasAttempted)) return outcomes;
  const passedAt = by.kind === 'passed' ? outcomes.indexOf(by.outcome) : -1;
  const isFinal = passedAt !== -1 && !outcomes.slice(passedAt + 1).some(wasAttempted);
  return (isFinal ? outcomes.slice(0, passedAt) : outcomes).filter(
    (outcome) => !isUnconfigured(outcome),
  );
}

/** As in `X-Gateway-Fallback-Reason`. */
export function nameOf(outcome: UpstreamOutcome): string {
  const provider = outcome.kind === 'skipped' ? null : outcome.provider;
  return provider === null ? outcome.upstream : `${outcome.upstream}/${provider}`;
}

export function reasonOf(outcome: UpstreamOutcome): FallbackReason {
  switch (outcome.kind) {
    case 'failed':
      return outcome.failure.reason;
    case 'hedge_lost':
      return OUTRUN;
    case 'skipped':
      return outcome.reason;
  }
}

export function wasAttempted(outcome: UpstreamOutcome): outcome is Failed {
  return outcome.kind === 'failed';
}

/** Reported only where no upstream was attempted: there it is the reason why. */
export function isUnconfigured(outcome: UpstreamOutcome): boolean {
  return (
    outcome.kind === 'skipped' &&
    (outcome.reason === 'not_configured' || outcome.reason === 'disabled')
  );
}
