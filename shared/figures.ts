import type { RequestRow } from './live.ts';
import { OUTRUN } from './reasons.ts';

/**
 * Milliseconds from the call of the upstream that answered to its first content: the time to first token wherever people
 * see one. Null before it, and if the answer was not streamed.
 */
export function firstTokenMsOf({ attempts }: Pick<RequestRow, 'attempts'>): number | null {
  for (const { firstContentMs, startMs, reason } of attempts)
    if (firstContentMs !== null && reason !== OUTRUN) return firstContentMs - startMs;
  return null;
}
