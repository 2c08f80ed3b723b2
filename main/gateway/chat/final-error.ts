import { skipFor } from '../circuits/exclusions.ts';
import type { GatewayError } from '../http/errors.ts';
import {
  type Failed,
  isSilent,
  type Left,
  reasonOf,
  wasTried,
} from '../routing/fallback-reasons.ts';
import type { ErrorResponse } from '../upstream/failure.ts';

/** What the caller gets when no upstream answered. */
export type LastWord =
  | { readonly kind: 'passed'; readonly left: Failed; readonly response: ErrorResponse }
  | { readonly kind: 'error'; readonly error: GatewayError };

/** Chooses the last word: an upstream's own 4xx, else what the last upstream that was tried calls for. */
export function lastWord(trail: readonly Left[]): LastWord {
  const failed = trail.filter(wasTried);
  const passed = failed.findLast(({ failure }) => failure.surfaced === 'as_is');
  if (passed?.failure.response) {
    return { kind: 'passed', left: passed, response: passed.failure.response };
  }
  const last = failed.at(-1);
  return { kind: 'error', error: last === undefined ? untried(trail) : wordOf(last, trail) };
}

const NOTHING_SET_UP: GatewayError = {
  status: 503,
  code: 'no_upstream',
  message:
    "No upstream is configured. Set SWITCHYARD_LOCAL_ENGINE_URL to an engine on this machine, or SWITCHYARD_HOSTED_A_BASE_URL with its key and model, and restart; or use the window's Settings.",
};

function untried(trail: readonly Left[]): GatewayError {
  if (trail.every(isSilent)) return NOTHING_SET_UP;
  const retryAfterMs = smallestWaitMs(trail);
  if (allRateLimited(trail)) {
    const message = 'Every upstream is rate limited; Retry-After says when the first one is back.';
    return { status: 429, code: 'upstream_rate_limited', message, retryAfterMs };
  }
  return {
    status: 503,
    code: 'no_upstream',
    message:
      'No upstream can be tried now; the X-Gateway-Fallback-Reason header says why for each.',
    retryAfterMs,
  };
}

function wordOf({ upstream, failure }: Failed, trail: readonly Left[]): GatewayError {
  const { surfaced } = failure;
  if (surfaced === 'as_is') throw new Error('an own response is passed on, not worded');
  const message = `No upstream answered; the last one tried, ${upstream}, failed: ${failure.reason} (${failure.detail}).`;
  switch (surfaced.code) {
    case 'upstream_rate_limited': {
      const status = allRateLimited(trail) ? 429 : 503;
      const limited = trail.filter((left) => reasonOf(left) === 'rate_limited');
      return { ...surfaced, status, message, retryAfterMs: smallestWaitMs(limited) };
    }
    case 'upstream_busy':
      return { ...surfaced, message, retryAfterMs: failure.retryAfterMs ?? waitOf({ failure }) };
    case 'upstream_unavailable':
      return { ...surfaced, message, retryAfterMs: failure.retryAfterMs };
    default:
      return { ...surfaced, message };
  }
}

function allRateLimited(trail: readonly Left[]): boolean {
  return trail.filter((left) => !isSilent(left)).every((left) => reasonOf(left) === 'rate_limited');
}

function smallestWaitMs(trail: readonly Left[]): number | null {
  const waits = trail.map(waitAt).filter((wait) => wait !== null);
  return waits.length === 0 ? null : Math.min(...waits);
}

function waitAt(left: Left): number | null {
  switch (left.kind) {
    case 'failed':
      return waitOf(left);
    case 'skipped':
      return left.waitMs;
    case 'outrun':
      return null;
  }
}

/** How long a failure keeps its upstream out; null when it does not. */
function waitOf({ failure }: Pick<Failed, 'failure'>): number | null {
  return skipFor(failure)?.ms ?? null;
}
