import type { Outcome, RequestRow } from './live.ts';

/** Null while it runs, or if the app cancelled it. A resumed answer counts as a fallback. */
export function outcomeOf({
  state,
  fallbackReason,
  attempts,
}: Pick<RequestRow, 'state' | 'fallbackReason' | 'attempts'>): Outcome | null {
  if (state === 'running' || state === 'cancelled') return null;
  if (state !== 'done') return 'failed';
  const isResumed = attempts.some(({ cause }) => cause === 'resume');
  return fallbackReason === 'none' && !isResumed ? 'first-choice' : 'fell-back';
}
