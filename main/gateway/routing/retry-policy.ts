import type { UpstreamId } from '#shared/ids.ts';
import type { Failure } from '../upstream/failure.ts';
import type { UpstreamOutcome } from './fallback-reasons.ts';

/**
 * How long to wait before the same upstream is called once more, in milliseconds; null: do not retry.
 * The upstreams are ordered by preference, so a single 500 is retried before falling back. `random` is in
 * [0, 1).
 */
export function retryDelayMs(
  failure: Failure,
  upstream: UpstreamId,
  retryAfterMaxMs: number,
  random: number,
): number | null {
  const isTransient = failure.reason === 'http_500' || failure.reason === 'http_502';
  // A 502 of `ondemand` means that it is starting; it is polled more slowly.
  if (isTransient && !(upstream === 'ondemand' && failure.reason === 'http_502')) {
    return 50 + random * 150;
  }
  const wait = failure.retryAfterMs;
  const isShort = failure.reason === 'rate_limited' && wait !== null && wait <= retryAfterMaxMs;
  return isShort && upstream !== 'local' ? wait : null;
}

/** What is known of `ondemand`, for interpreting its failures. */
export interface OndemandKnown {
  readonly warming: boolean;
  /** It has answered before, so a refused connection means that it was scaled down. */
  readonly reachedBefore: boolean;
}

/** Whether a failure of `ondemand` only means that it is still starting, so that polling helps. */
export function isStarting(failure: Failure, known: OndemandKnown): boolean {
  switch (failure.reason) {
    case 'http_502':
    case 'http_503':
    case 'http_504':
    case 'busy':
      return true;
    case 'unreachable':
      return known.warming || known.reachedBefore;
    default:
      return false;
  }
}

const SHORTEST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 5000;
/** What the last poll has left of the time-out. */
const LAST_POLL_MS = 750;

/**
 * Pause until the next poll of a starting `ondemand`: 1 s, growing to 5 s, and such that the last poll comes
 * just before the time-out; null when there is time for none.
 */
export function pollPauseMs(polls: number, leftMs: number): number | null {
  const restMs = leftMs - LAST_POLL_MS;
  if (restMs < SHORTEST_PAUSE_MS) return null;
  const pauseMs = Math.min(SHORTEST_PAUSE_MS + polls * 500, LONGEST_PAUSE_MS);
  if (restMs - pauseMs >= SHORTEST_PAUSE_MS) return pauseMs;
  return restMs <= LONGEST_PAUSE_MS ? restMs : restMs - SHORTEST_PAUSE_MS;
}

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
