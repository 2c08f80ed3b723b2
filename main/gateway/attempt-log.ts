import type { UpstreamId } from '#shared/ids.ts';
import type { AttemptRow, RequestRow } from '#shared/live.ts';
import type { FallbackReason } from '#shared/reasons.ts';
import type { Clock } from '../platform/clock.ts';
import type { Failure } from './outcomes.ts';
import type { Stats } from './stats.ts';

/** What is written down of one call to one upstream; exactly one of the last five ends it. */
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

interface Deps {
  readonly clock: Clock;
  readonly stats: Stats;
  readonly slowAfterMs: () => number;
  readonly changed: (id: string) => void;
}

/**
 * Begins an attempt in `row`, whose request came in at `begunAt` clock ticks; a further poll of an
 * upstream that is starting goes on with the attempt that is open.
 */
export function startAttempt(
  upstream: UpstreamId,
  row: MutableRow,
  begunAt: number,
  { clock, stats, slowAfterMs, changed }: Deps,
): AttemptLog {
  const startedAt = clock.ticks();
  const sinceBegin = () => Math.round(clock.ticks() - begunAt);
  const open = row.attempts.findLast(
    (known) => known.upstream === upstream && known.endMs === null,
  );
  const attempt: Mutable<AttemptRow> = open ?? {
    upstream,
    startMs: sinceBegin(),
    firstContentMs: null,
    endMs: null,
    reason: null,
  };
  row.attemptCount += 1;
  if (open === undefined) {
    stats.entered(upstream);
    if (row.attempts.length < KEPT_ATTEMPTS) row.attempts.push(attempt);
  }
  stats.sent(upstream);
  changed(row.id);

  function end(reason: FallbackReason | null): void {
    attempt.endMs = sinceBegin();
    attempt.reason = reason;
    stats.left(upstream);
    changed(row.id);
  }
  return {
    answering(contentAt) {
      const at = contentAt ?? clock.ticks();
      attempt.firstContentMs = Math.round(at - begunAt);
      if (contentAt !== null) stats.firstContent(upstream, at - startedAt, slowAfterMs());
      changed(row.id);
    },
    relayed(events) {
      row.events += events;
      changed(row.id);
    },
    failed(failure) {
      if (failure.mark === 'failure')
        stats.failed(upstream, `${failure.reason}: ${failure.detail}`);
      end(failure.reason);
    },
    starting: () => changed(row.id),
    succeeded() {
      stats.succeeded(upstream);
      end(null);
    },
    broken(detail) {
      stats.failed(upstream, `bad_response: the stream broke off, ${detail}`);
      end('bad_response');
    },
    cancelled: () => end(null),
  };
}
