import type { Failure } from '../upstream/failure.ts';
import type { UpstreamOutcome } from './fallback-reasons.ts';

/** When `local` may be called once more for a request. */
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
  { provider, nowTicks }: { readonly provider: string | null; readonly nowTicks: number },
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
