import type { AttemptRow, RequestRow } from './live.ts';
import { OUTRUN } from './reasons.ts';

type CallTimes = Pick<AttemptRow, 'startMs' | 'firstContentMs' | 'lastContentMs'>;

/** The time to first token of a call, wherever one is shown; null before it, and if the answer was not streamed. */
export function firstTokenMsOf({
  startMs,
  firstContentMs,
  lastContentMs,
}: CallTimes): number | null {
  return firstContentMs === null || lastContentMs === null ? null : firstContentMs - startMs;
}

/** The time to first token of a request: of the call that answered first. */
export function firstTokenMsOfRequest({ attempts }: Pick<RequestRow, 'attempts'>): number | null {
  const answered = attempts.find(
    ({ firstContentMs, reason }) => firstContentMs !== null && reason !== OUTRUN,
  );
  return answered === undefined ? null : firstTokenMsOf(answered);
}

/** Answers that came in less time came at once: their rate would be that of the network. */
const MIN_RATE_MS = 50;

/** Output tokens after the first, and the time from the first to the last. */
export interface TimedOutput {
  readonly tokens: number;
  readonly ms: number;
}

/** What the token rate of a call is taken from; null if the answer was not streamed, or came at once. */
export function timedOutputOf({
  tokens,
  firstContentMs,
  lastContentMs,
}: Pick<AttemptRow, 'tokens' | 'firstContentMs' | 'lastContentMs'>): TimedOutput | null {
  if (tokens === null || firstContentMs === null || lastContentMs === null) return null;
  const ms = lastContentMs - firstContentMs;
  return ms < MIN_RATE_MS || tokens.output < 2 ? null : { tokens: tokens.output - 1, ms };
}
