import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { OUTRUN, SKIP_REASONS } from '#shared/reasons.ts';

export type SegmentKind =
  'waiting' | 'starting' | 'failed' | 'outrun' | 'answering' | 'silent' | 'stalled' | 'broken';

/** A drawn span, in percent of the axis. */
export interface Segment {
  readonly kind: SegmentKind;
  readonly attempt: number;
  readonly lane: Lane;
  readonly left: number;
  readonly width: number;
}

interface Stretch {
  readonly kind: SegmentKind;
  readonly from: number;
  readonly to: number;
}

const MIN_PERCENT = 1.4;
/** Longer than the usual pause between two tokens. */
const SILENT_FROM_MS = 2_000;
const SKIPS: ReadonlySet<string> = new Set(SKIP_REASONS);

export const isSkip = ({ reason }: AttemptRow): boolean => reason !== null && SKIPS.has(reason);

export const drawnOf = ({ attempts }: RequestRow): readonly AttemptRow[] =>
  attempts.filter((attempt) => !isSkip(attempt));

/** How long a started answer has been silent, or was before its end, in milliseconds; 0 below two seconds. */
export function silentMsOf(attempt: AttemptRow, elapsedMs: number): number {
  const { firstContentMs, lastContentMs, endMs } = attempt;
  if (firstContentMs === null || lastContentMs === null) return 0;
  const silentMs = (endMs ?? elapsedMs) - Math.max(firstContentMs, lastContentMs);
  return silentMs < SILENT_FROM_MS ? 0 : silentMs;
}

/** Milliseconds from the request's start to its end, or to now. */
export function elapsedOf(row: RequestRow, serverNow: number): number {
  if (row.endMs !== null) return row.endMs;
  const known = row.attempts.map(({ endMs, firstContentMs, startMs }) =>
    Math.max(startMs, firstContentMs ?? 0, endMs ?? 0),
  );
  return Math.max(0, serverNow - row.startedAt, ...known);
}

/**
 * The waterfall of a request. Narrow segments are widened to be visible, keeping the order and without overlaps on a
 * lane.
 */
export function segmentsOf(row: RequestRow, elapsedMs: number): readonly Segment[] {
  const attempts = drawnOf(row);
  const lanes = lanesOf(attempts);
  const segments: Segment[] = [];
  const ends: number[] = [];
  for (const [index, attempt] of attempts.entries()) {
    const lane = lanes[index] ?? 0;
    let edge = Math.max(
      0,
      ...ends.filter((_, before) => {
        const { endMs = null } = attempts[before] ?? {};
        return endMs !== null && endMs <= attempt.startMs;
      }),
    );
    for (const { kind, from, to } of stretchesOf(attempt, row, elapsedMs)) {
      const left = Math.max(axisPercent(from), edge);
      edge = Math.max(axisPercent(to), left + MIN_PERCENT);
      segments.push({ kind, attempt: index, lane, left, width: edge - left });
    }
    ends.push(edge);
  }
  // Segments widened at the end of the axis may exceed it.
  const most = Math.max(100, ...ends);
  const factor = 100 / most;
  return segments.map((segment) => ({
    ...segment,
    left: segment.left * factor,
    width: segment.width * factor,
  }));
}

function stretchesOf(attempt: AttemptRow, row: RequestRow, elapsedMs: number): readonly Stretch[] {
  const { startMs, firstContentMs, reason } = attempt;
  const endMs = attempt.endMs ?? elapsedMs;
  const waiting = attempt.upstream === 'ondemand' ? 'starting' : 'waiting';
  // Its content may have arrived at the same moment as the winner's, but was not used.
  if (reason === OUTRUN) return [{ kind: 'outrun', from: startMs, to: endMs }];
  if (firstContentMs === null) {
    return [{ kind: reason === null ? waiting : 'failed', from: startMs, to: endMs }];
  }
  const isBroken = row.state === 'broken' || reason !== null;
  const silentAt = endMs - silentMsOf(attempt, elapsedMs);
  const before: Stretch = { kind: waiting, from: startMs, to: firstContentMs };
  if (silentAt === endMs) {
    return [before, { kind: isBroken ? 'broken' : 'answering', from: firstContentMs, to: endMs }];
  }
  return [
    before,
    { kind: 'answering', from: firstContentMs, to: silentAt },
    { kind: isBroken ? 'stalled' : 'silent', from: silentAt, to: endMs },
  ];
}

/** A request has at most two calls at a time, so two lanes suffice. */
export type Lane = 0 | 1;

/**
 * The lane on which each attempt is drawn: the upper one if it is free. An attempt that resumes an answer is on the
 * other lane than the dropped one, so that the handover is visible.
 */
export function lanesOf(attempts: readonly AttemptRow[]): readonly Lane[] {
  const lanes: Lane[] = [];
  for (const attempt of attempts) {
    const broken = attempt.cause === 'resume' ? lanes[brokenBefore(attempts, lanes.length)] : null;
    if (broken === 0 || broken === 1) lanes.push(broken === 0 ? 1 : 0);
    else {
      const isTaken = lanes.some(
        (lane, at) => lane === 0 && (attempts[at]?.endMs ?? Infinity) > attempt.startMs,
      );
      lanes.push(isTaken ? 1 : 0);
    }
  }
  return lanes;
}

/** Index of the last dropped answer before `index`; -1 if none. */
export function brokenBefore(attempts: readonly AttemptRow[], index: number): number {
  return attempts
    .slice(0, index)
    .findLastIndex(({ firstContentMs, reason }) => firstContentMs !== null && reason !== 'outrun');
}

/** The axis is logarithmic: it shows both 300 ms and two minutes without rescaling. */
const KNEE_MS = 250;
const END_MS = 180_000;
const SPAN = Math.log1p(END_MS / KNEE_MS);

export const AXIS_TICKS_MS = [0, 1_000, 5_000, 30_000, 120_000] as const;

/** Position on the axis in percent of its width; everything beyond three minutes is at the end. */
export const axisPercent = (ms: number): number =>
  (100 * Math.log1p(Math.min(Math.max(ms, 0), END_MS) / KNEE_MS)) / SPAN;
