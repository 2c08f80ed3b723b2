import type { AttemptRow, RequestRow } from '#shared/live.ts';
import type { Log } from '../../platform/log.ts';

/** One line when a request has ended; while it runs nothing is written. */
export function writeRequestLine(
  {
    id,
    endpoint,
    model,
    stream,
    key,
    state,
    upstream,
    status,
    fallbackReason,
    endMs,
    tokens,
    attempts,
  }: RequestRow,
  log: Log,
): void {
  log('info', 'request', {
    id,
    endpoint,
    model,
    stream,
    ...(key === null ? {} : { key }),
    state,
    upstream,
    status,
    fallbackReason,
    firstContentMs: firstContentMs(attempts),
    ms: endMs,
    inputTokens: tokens?.input ?? null,
    outputTokens: tokens?.output ?? null,
    tokensEstimated: tokens?.estimated ?? null,
  });
}

function firstContentMs(attempts: readonly AttemptRow[]): number | null {
  for (const { firstContentMs: ms } of attempts) if (ms !== null) return ms;
  return null;
}
