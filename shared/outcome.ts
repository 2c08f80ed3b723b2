import type { Outcome, RequestRow } from './live.ts';

/**
 * How a request ended; null while it runs, or if the app cancelled it. It fell back if another upstream than the first
 * choice gave the answer or a part of it: the first choice is the first in its walk that is set up. Every count of fallbacks and
 * failures that people see comes from here; `fallbackCount` of the status report counts the header instead.
 */
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
