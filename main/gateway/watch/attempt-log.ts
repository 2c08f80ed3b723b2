import type { UpstreamId } from '#shared/ids.ts';
import type { AttemptRow, RequestRow } from '#shared/live.ts';
import type { FallbackReason } from '#shared/reasons.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ticket } from '../circuit/breaker.ts';
import type { Circuits } from '../circuit/circuits.ts';
import type { Result } from '../circuit/results.ts';
import type { Failure } from '../outcome/outcomes.ts';
import type { Stats } from './stats.ts';

/**
 * What is written down of one call to one upstream, for the window and for its circuit; exactly one
 * of the last five ends it.
 */
export interface AttemptLog {
  /** First content is there, at `contentAt` clock ticks (null: it came as a whole). */
  answering(contentAt: number | null): void;
  relayed(events: number): void;
  failed(failure: Failure): void;
  /** The upstream is still starting: what it said counts for nothing, and it is asked again. */
  starting(): void;
  succeeded(): void;
  /** The answer had begun and was not finished. */
  broken(detail: string): void;
  cancelled(): void;
}

/** Attempts that are kept of one request; the polls of a cold start are one. */
const KEPT_ATTEMPTS = 16;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
/** A row while it is written. */
export type MutableRow = Mutable<Omit<RequestRow, 'attempts'>> & {
  attempts: Mutable<AttemptRow>[];
};

/** An attempt that has not ended: its row and what it was let in with. */
export interface OpenAttempt {
  readonly upstream: UpstreamId;
  readonly ticket: Ticket;
  readonly row: Mutable<AttemptRow>;
  end(reason: FallbackReason | null, result: Result): void;
}

interface Deps {
  readonly clock: Clock;
  readonly stats: Stats;
  readonly circuits: Circuits;
  readonly changed: (id: string) => void;
}

/** Opens an attempt in `row`, whose request came in at `begunAt` clock ticks. */
export function openAttempt(
  upstream: UpstreamId,
  ticket: Ticket,
  { row, begunAt }: { readonly row: MutableRow; readonly begunAt: number },
  { clock, stats, circuits, changed }: Deps,
): OpenAttempt {
  const sinceBegin = () => Math.round(clock.ticks() - begunAt);
  const attempt: Mutable<AttemptRow> = {
    upstream,
    startMs: sinceBegin(),
    firstContentMs: null,
    endMs: null,
    reason: null,
  };
  if (row.attempts.length < KEPT_ATTEMPTS) row.attempts.push(attempt);
  stats.entered(upstream);
  return {
    upstream,
    ticket,
    row: attempt,
    end(reason, result) {
      if (attempt.endMs !== null) return;
      attempt.endMs = sinceBegin();
      attempt.reason = reason;
      stats.left(upstream);
      circuits.record(upstream, ticket, result);
      changed(row.id);
    },
  };
}

const NEUTRAL: Result = { kind: 'neutral' };

/** The log of one call within an open attempt; the polls of a cold start share one. */
export function callLog(
  open: OpenAttempt,
  { row, begunAt }: { readonly row: MutableRow; readonly begunAt: number },
  { clock, circuits, changed }: Deps,
): AttemptLog {
  const { upstream, ticket } = open;
  const startedAt = clock.ticks();
  row.attemptCount += 1;
  circuits.sent(upstream);
  changed(row.id);
  return {
    answering(contentAt) {
      open.row.firstContentMs = Math.round((contentAt ?? clock.ticks()) - begunAt);
      if (contentAt !== null) circuits.firstContent(upstream, ticket, contentAt - startedAt);
      changed(row.id);
    },
    relayed(events) {
      row.events += events;
      changed(row.id);
    },
    failed: (failure) => open.end(failure.reason, resultOf(failure)),
    starting: () => changed(row.id),
    succeeded: () => open.end(null, { kind: 'success' }),
    broken(detail) {
      const error = `bad_response: the stream broke off, ${detail}`;
      open.end('bad_response', { kind: 'failure', error });
    },
    cancelled: () => open.end(null, NEUTRAL),
  };
}

/** How a failure counts in the circuit. */
export function resultOf({ mark, reason, detail }: Failure): Result {
  return mark === 'neutral' ? NEUTRAL : { kind: 'failure', error: `${reason}: ${detail}` };
}
