import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { SKIP_REASONS } from '#shared/reasons.ts';
import { axisPercent } from './time-axis.ts';

/** What a stretch of a request was spent on. */
export type SegmentKind = 'waiting' | 'starting' | 'failed' | 'answering' | 'broken';

/** One stretch of the waterfall, in percent of the axis. */
export interface Segment {
  readonly kind: SegmentKind;
  readonly left: number;
  readonly width: number;
}

interface Stretch {
  readonly kind: SegmentKind;
  readonly from: number;
  readonly to: number;
}

/** Narrowest stretch that can still be seen. */
const MIN_PERCENT = 1.4;
const SKIPS: ReadonlySet<string> = new Set(SKIP_REASONS);

/** True when the upstream was passed over rather than called. */
export function isSkip({ reason }: AttemptRow): boolean {
  return reason !== null && SKIPS.has(reason);
}

/** Milliseconds from the request's start to its end, or to now. */
export function elapsedOf(row: RequestRow, serverNow: number): number {
  if (row.endMs !== null) return row.endMs;
  const known = row.attempts.map(({ endMs, firstContentMs, startMs }) =>
    Math.max(startMs, firstContentMs ?? 0, endMs ?? 0),
  );
  return Math.max(0, serverNow - row.startedAt, ...known);
}

/** The waterfall of a request: left to right, never overlapping, slivers widened to be seen. */
export function segmentsOf(row: RequestRow, elapsedMs: number): readonly Segment[] {
  let edge = 0;
  const segments = row.attempts
    .filter((attempt) => !isSkip(attempt))
    .flatMap((attempt) => stretchesOf(attempt, row, elapsedMs))
    .map(({ kind, from, to }) => {
      const left = Math.max(axisPercent(from), edge);
      edge = Math.max(axisPercent(to), left + MIN_PERCENT);
      return { kind, left, width: edge - left };
    });
  // Widened slivers at the very end of the axis may have run over it.
  return edge <= 100 ? segments : segments.map((segment) => squeeze(segment, 100 / edge));
}

function squeeze({ kind, left, width }: Segment, factor: number): Segment {
  return { kind, left: left * factor, width: width * factor };
}

function stretchesOf(attempt: AttemptRow, row: RequestRow, elapsedMs: number): readonly Stretch[] {
  const { startMs, firstContentMs, reason } = attempt;
  const endMs = attempt.endMs ?? elapsedMs;
  const waiting = attempt.upstream === 'ondemand' ? 'starting' : 'waiting';
  if (firstContentMs === null) {
    return [{ kind: reason === null ? waiting : 'failed', from: startMs, to: endMs }];
  }
  const answer = row.state === 'broken' || reason !== null ? 'broken' : 'answering';
  return [
    { kind: waiting, from: startMs, to: firstContentMs },
    { kind: answer, from: firstContentMs, to: endMs },
  ];
}
