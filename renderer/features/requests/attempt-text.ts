import { timedOutputOf, type AttemptRow, type RequestRow } from '#shared/live.ts';
import { OUTRUN, parseFallbackReason } from '#shared/reasons.ts';
import { reasonText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';
import { type Labels, nameOf } from './attempt-names.ts';
import { brokenBefore } from './waterfall-model.ts';

const { causes, results } = t.attempts;

export function gaveContent(attempt: AttemptRow, row: RequestRow): boolean {
  const { firstContentMs, reason } = attempt;
  return firstContentMs !== null && reason !== OUTRUN && !hasDiverged(attempt, row);
}

/** True for a resume whose text did not match the partial answer. */
export const hasDiverged = ({ cause, endMs, reason }: AttemptRow, { state }: RequestRow): boolean =>
  cause === 'resume' && state === 'broken' && endMs !== null && reason === null;

/** The slow call that was hedged; null if it was not kept. */
export function hedgedCall(hedge: AttemptRow, { attempts }: RequestRow): AttemptRow | null {
  const before = attempts.slice(0, attempts.indexOf(hedge));
  return before.findLast(({ endMs }) => endMs === null || endMs >= hedge.startMs) ?? null;
}

export function causeText(attempt: AttemptRow, row: RequestRow, labels: Labels): string {
  const { attempts } = row;
  const at = attempts.indexOf(attempt);
  switch (attempt.cause) {
    case 'turn': {
      const before = attempts[at - 1];
      const isAgain = before?.upstream === attempt.upstream && before.provider === attempt.provider;
      return isAgain ? causes.retry : causes.turn;
    }
    case 'hedge': {
      const slow = hedgedCall(attempt, row);
      return slow === null ? causes.hedge : causes.hedgeOf(nameOf(slow, row, labels));
    }
    case 'resume': {
      const broken = attempts[brokenBefore(attempts, at)];
      return broken === undefined ? causes.resume : causes.resumeOf(nameOf(broken, row, labels));
    }
  }
}

export function tokensPerSecond(attempt: AttemptRow): number | null {
  const timed = timedOutputOf(attempt);
  return timed === null ? null : (1000 * timed.tokens) / timed.ms;
}

/**
 * Tokens of a call, with their rate if they were streamed, and what its machine or host had of them; null if none were
 * counted.
 */
export function usageText(attempt: AttemptRow): string | null {
  const { tokens, fixedParts = [] } = attempt;
  if (tokens === null) return null;
  const perSecond = tokensPerSecond(attempt);
  const parts = [
    t.usage.tokens(tokens),
    perSecond === null ? '' : t.usage.rate(perSecond),
    tokens.cached === 0 ? '' : t.usage.cached(tokens.cached, tokens.input),
    fixedParts.length === 0 ? '' : t.usage.fixed(fixedParts),
  ];
  return parts.filter(Boolean).join(' · ');
}

export function resultText(attempt: AttemptRow, row: RequestRow): string {
  const { cause, endMs, firstContentMs, reason } = attempt;
  if (reason !== null) {
    const isBroken = firstContentMs !== null && reason !== OUTRUN;
    return isBroken ? results.dropped : reasonText(reason);
  }
  if (endMs === null) return firstContentMs === null ? results.waiting : results.answering;
  if (hasDiverged(attempt, row)) return results.diverged;
  if (row.state === 'broken') return results.dropped;
  if (row.state === 'cancelled') return results.cancelled;
  return cause === 'resume' ? results.resumed : results.answered;
}

/** The circuit's state, as in `closed`, or its change by the attempt, as in `closed → open`. */
export function circuitText({ circuitBefore, circuitAfter }: AttemptRow): string {
  const { circuits, circuitChange } = t.attempts;
  const before = circuits[circuitBefore];
  if (circuitAfter === null || circuitAfter === circuitBefore) return before;
  return circuitChange(before, circuits[circuitAfter]);
}

/** Upstreams that were not called: named in the fallback reason, but without an attempt. */
export function skippedUpstreams({
  attempts,
  fallbackReason,
}: RequestRow): ReturnType<typeof parseFallbackReason> {
  return parseFallbackReason(fallbackReason).filter(
    ({ upstream }) => !attempts.some((attempt) => attempt.upstream === upstream),
  );
}
