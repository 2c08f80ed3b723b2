import type { Knowledge } from '../memory/memory.ts';
import type { CheckFacts, CheckOutcome, Setback } from '../memory/topics.ts';

/* What checks, tests and refusals have shown of an upstream or a machine. Results of requests are not part of it. */

const UNSEEN: CheckFacts = { since: 0, last: null, lastFailedAt: null, setback: null };

export const seenOf = (known: Knowledge): CheckFacts => known.get('seen') ?? UNSEEN;

/** Whether the last check was answered, if there was one. */
export const wasUp = (known: Knowledge) => (seenOf(known).last?.failure ?? null) === null;

/** Nothing that was seen until now counts any more. */
export function forgetSeen(known: Knowledge, since: number): void {
  known.set('seen', '', { ...UNSEEN, since });
}

export function noteSetback(known: Knowledge, setback: Setback): void {
  known.set('seen', '', { ...seenOf(known), setback });
}

/** Returns whether it says something new. */
export function noteCheck(known: Knowledge, last: CheckOutcome): boolean {
  const before = seenOf(known);
  const lastFailedAt = last.failure === null ? before.lastFailedAt : last.at;
  known.set('seen', '', { ...before, last, lastFailedAt });
  return before.last?.failure !== last.failure || before.last.isTest !== last.isTest;
}

/** What passes by itself excludes the upstream meanwhile, and is nothing to remember afterwards. */
export function noteTest(known: Knowledge, test: CheckOutcome): void {
  const { at, failure, isTest } = test;
  if (failure === 'busy' || failure === 'rate_limited') return;
  if (isTest && failure !== null) {
    noteSetback(known, { at, reason: failure, by: 'check' });
    return;
  }
  if (isTest) known.set('seen', '', { ...seenOf(known), setback: null });
  noteCheck(known, test);
}
