import type { RequestRow } from '#shared/live.ts';
import { parseFallbackReason } from '#shared/fallback-reason.ts';

interface SkippedUpstream {
  readonly upstream: string;
  readonly provider: string | null;
  readonly reason: string;
}

/** Upstreams that were not called: named in the fallback reason, but without an attempt. */
export function skippedUpstreams({
  attempts,
  fallbackReason,
}: Pick<RequestRow, 'attempts' | 'fallbackReason'>): readonly SkippedUpstream[] {
  return parseFallbackReason(fallbackReason).filter(
    ({ upstream }) => !attempts.some((attempt) => attempt.upstream === upstream),
  );
}
