import type { AttemptRow, RequestRow } from '#shared/live.ts';
import type { Log } from '../../platform/log.ts';

/** One line per request, written when it has ended. */
export function writeRequestLine(row: RequestRow, log: Log): void {
  const { id, endpoint, model, stream, key, state, upstream, status, fallbackReason } = row;
  const { endMs: ms, tokens, attempts } = row;
  const [inputTokens, outputTokens] = [tokens?.input ?? null, tokens?.output ?? null];
  const tokensEstimated = tokens?.estimated ?? null;
  const about =
    key === null ? { id, endpoint, model, stream } : { id, endpoint, model, stream, key };
  log('info', 'request', {
    ...about,
    state,
    upstream,
    status,
    fallbackReason,
    firstContentMs: firstContentMs(attempts),
    ms,
    inputTokens,
    outputTokens,
    tokensEstimated,
  });
}

function firstContentMs(attempts: readonly AttemptRow[]): number | null {
  for (const { firstContentMs: ms } of attempts) if (ms !== null) return ms;
  return null;
}
