import type { UpstreamId } from '#shared/ids.ts';
import { type FallbackReason, OUTRUN } from '#shared/reasons.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';

export interface Skip {
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

type Source = Pick<UpstreamCall, 'upstream' | 'provider'>;

export interface FailedCall extends Source {
  readonly kind: 'failed';
  readonly failure: Failure;
}

/** What came of a call that gave no answer. `hedge_lost`: the content of the other of two hedged calls came first. */
export type LostCall = FailedCall | (Source & { readonly kind: 'hedge_lost' });

/** Why one upstream did not give the answer. */
export type UpstreamOutcome = Skip | LostCall;

/** Waiting does not help where nothing else is said. */
type Why = Pick<Skip, 'reason' | 'causes'> & Partial<Pick<Skip, 'waitMs' | 'backAtTicks'>>;

export function skipped(upstream: UpstreamId, why: Why): Skip {
  return { waitMs: null, backAtTicks: null, ...why, kind: 'skipped', upstream };
}

/**
 * In which order exclusions are overridden when nobody is left; null: never, as with a quota, refused credentials and the
 * owner's settings, and a rate limit unless it is waited out. A model that was missing is asked for again if that is all
 * there is to say.
 */
export function forcedRank(
  { reason, waitMs }: Pick<Skip, 'reason' | 'waitMs'>,
  maxWaitMs: number,
): 0 | 1 | null {
  if (reason === 'circuit_open' || reason === 'busy') return 0;
  if (reason === 'rate_limited' && waitMs !== null && waitMs <= maxWaitMs) return 0;
  return reason === 'model_not_found' ? 1 : null;
}

/** Excluded upstreams that may be forced, soonest first; for `local` a request may wait. */
export function forcibleSoonestFirst(
  outcomes: readonly UpstreamOutcome[],
  localMaxWaitMs: number,
): readonly Skip[] {
  const last = outcomes.some(wasAttempted) ? 0 : 1;
  const rankOf = (outcome: Skip) =>
    forcedRank(outcome, outcome.upstream === 'local' ? localMaxWaitMs : -1) ?? Infinity;
  return outcomes
    .filter((outcome) => outcome.kind === 'skipped')
    .filter((outcome) => rankOf(outcome) <= last)
    .toSorted((a, b) => rankOf(a) - rankOf(b) || (a.backAtTicks ?? 0) - (b.backAtTicks ?? 0));
}

/** A refusal is an answer: for a second opinion no excluded upstream is called. */
export const hasRefusal = (outcomes: readonly UpstreamOutcome[]): boolean =>
  outcomes.some((each) => wasAttempted(each) && each.failure.fallBack !== 'always');

/** Whether no other upstream is asked: a refusal that another upstream repeats is the request's own fault. */
export function isSettled(outcomes: readonly UpstreamOutcome[]): boolean {
  const failed = outcomes.filter(wasAttempted);
  const refusals = failed.filter(({ failure }) => failure.fallBack === 'once');
  const isRepeated = refusals.some(({ upstream }) => upstream !== refusals[0]?.upstream);
  return isRepeated || failed.some(({ failure }) => failure.fallBack === 'never');
}

/** The end of a request that no upstream has answered. */
export interface Unanswered {
  readonly kind: 'unanswered';
  /** In routing order. */
  readonly outcomes: readonly UpstreamOutcome[];
  /** The call whose own response the caller gets, a refusal before others; null for an error of the gateway's. */
  readonly passed: FailedCall | null;
  readonly reason: string;
}

export function unanswered(outcomes: readonly UpstreamOutcome[]): Unanswered {
  const failed = outcomes.filter(wasAttempted);
  const refusal = failed.find(({ failure }) => failure.fallBack === 'once');
  const passed = refusal ?? failed.findLast(({ failure }) => failure.surfaced === 'as_is') ?? null;
  // What is passed on is listed only if another upstream was called after it.
  const isLast = passed !== null && passed === failed.at(-1);
  const told = isLast ? outcomes.slice(0, outcomes.indexOf(passed)) : outcomes;
  const reason = failed.length === 0 ? listOf(outcomes) : fallbackReason(told);
  return { kind: 'unanswered', outcomes, passed, reason };
}

/** The `X-Gateway-Fallback-Reason` value: one entry per upstream, one per machine of the local pool, in order. */
export const fallbackReason = (outcomes: readonly UpstreamOutcome[]): string =>
  listOf(outcomes.filter((outcome) => !isUnconfigured(outcome)));

const listOf = (outcomes: readonly UpstreamOutcome[]): string =>
  outcomes.map((outcome) => `${nameOf(outcome)}=${reasonOf(outcome)}`).join('; ') || 'none';

/** As in `X-Gateway-Fallback-Reason`. */
export function nameOf(outcome: UpstreamOutcome): string {
  if (outcome.kind === 'skipped') return outcome.upstream;
  return sourceName(outcome.upstream, outcome.provider);
}

export const sourceName = (upstream: string, provider: string | null): string =>
  provider === null ? upstream : `${upstream}/${provider}`;

export function reasonOf(outcome: UpstreamOutcome): FallbackReason {
  if (outcome.kind === 'failed') return outcome.failure.reason;
  return outcome.kind === 'skipped' ? outcome.reason : OUTRUN;
}

export const wasAttempted = (outcome: UpstreamOutcome): outcome is FailedCall =>
  outcome.kind === 'failed';

/** Reported only where no upstream was attempted: there it is the reason why. */
export const isUnconfigured = (outcome: UpstreamOutcome): boolean =>
  outcome.kind === 'skipped' && outcome.reason === 'not_configured';
