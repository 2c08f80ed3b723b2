import type { UpstreamId } from '#shared/ids.ts';
import type { FallbackReason } from '#shared/reasons.ts';
import type { GatewayError } from './errors.ts';
import type { ErrorResponse, Failure } from './outcomes.ts';

/** One upstream that did not give the answer, in routing order. */
export type Left =
  | { readonly kind: 'skipped'; readonly upstream: UpstreamId; readonly reason: FallbackReason }
  | { readonly kind: 'failed'; readonly upstream: UpstreamId; readonly failure: Failure };

/** What the caller gets when no upstream answered. */
export type LastWord =
  | { readonly kind: 'passed'; readonly upstream: UpstreamId; readonly response: ErrorResponse }
  | { readonly kind: 'error'; readonly error: GatewayError };

/** Chooses the last word: an upstream's own 4xx, else what the last upstream that was tried calls for. */
export function lastWord(trail: readonly Left[]): LastWord {
  const failed = trail.filter((left) => left.kind === 'failed');
  const passed = failed.findLast(({ failure }) => failure.surfaced === 'as_is');
  if (passed?.failure.response) {
    return { kind: 'passed', upstream: passed.upstream, response: passed.failure.response };
  }
  const last = failed.at(-1);
  if (last === undefined) return { kind: 'error', error: nothingToTry(trail) };
  return {
    kind: 'error',
    error: wordOf(
      last.upstream,
      last.failure,
      failed.map((left) => left.failure),
    ),
  };
}

function nothingToTry(trail: readonly Left[]): GatewayError {
  const configured = trail.some(
    (left) => left.kind === 'skipped' && left.reason !== 'not_configured',
  );
  return {
    status: 503,
    code: 'no_upstream',
    message: configured
      ? 'No upstream can be tried now; the X-Gateway-Fallback-Reason header says why for each.'
      : 'No upstream is configured. Set SWITCHYARD_LOCAL_ENGINE_URL to an engine on this machine, or SWITCHYARD_HOSTED_A_BASE_URL with its key and model, and restart.',
  };
}

function wordOf(upstream: UpstreamId, failure: Failure, all: readonly Failure[]): GatewayError {
  const surfaced = failure.surfaced === 'as_is' ? OWN_RESPONSE : failure.surfaced;
  const waits = all.map((each) => each.retryAfterMs).filter((wait) => wait !== null);
  const smallestWait = waits.length === 0 ? null : Math.min(...waits);
  const message = `No upstream answered; the last one tried, ${upstream}, failed: ${describe(failure)}.`;
  switch (surfaced.code) {
    case 'upstream_rate_limited': {
      const allSaidSo = all.every((each) => each.reason === 'rate_limited');
      const retryAfterMs = smallestWait ?? DEFAULT_RATE_LIMIT_MS;
      return { ...surfaced, status: allSaidSo ? 429 : 503, message, retryAfterMs };
    }
    case 'upstream_busy':
      return { ...surfaced, message, retryAfterMs: failure.retryAfterMs ?? BUSY_MS };
    case 'upstream_unavailable':
      return { ...surfaced, message, retryAfterMs: failure.retryAfterMs };
    default:
      return { ...surfaced, message };
  }
}

const OWN_RESPONSE = { status: 502, code: 'upstream_error' } as const;
/** How long a 429 without `Retry-After` counts (design 4). */
const DEFAULT_RATE_LIMIT_MS = 15_000;
/** How long a busy `local` is left alone (design 4). */
const BUSY_MS = 2000;

function describe(failure: Failure): string {
  return failure.detail === '' ? failure.reason : `${failure.reason} (${failure.detail})`;
}

/**
 * The `X-Gateway-Fallback-Reason` value: one entry per upstream left, in order.
 * An upstream whose own response is passed on was only left if another was asked after it.
 */
export function fallbackReason(trail: readonly Left[], answeredBy: UpstreamId | null): string {
  const entries = leftFor(trail, answeredBy).map(
    (left) => `${left.upstream}=${left.kind === 'failed' ? left.failure.reason : left.reason}`,
  );
  return entries.length === 0 ? 'none' : entries.join('; ');
}

function leftFor(trail: readonly Left[], answeredBy: UpstreamId | null): readonly Left[] {
  const nothingTried = answeredBy === null && !trail.some(wasTried);
  if (nothingTried) return trail;
  const answer = trail.findIndex(({ upstream }) => upstream === answeredBy);
  const isFinal = answer !== -1 && !trail.slice(answer + 1).some(wasTried);
  return (isFinal ? trail.slice(0, answer) : trail).filter((left) => !isSilent(left));
}

function wasTried(left: Left): boolean {
  return left.kind === 'failed';
}

/** Upstreams that nobody set up are no news, but where there is no upstream at all they are the reason. */
function isSilent(left: Left): boolean {
  return (
    left.kind === 'skipped' && (left.reason === 'not_configured' || left.reason === 'disabled')
  );
}
