import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { OUTRUN } from '#shared/reasons.ts';
import * as t from '../../text/t.ts';
import { brokenBefore, silentMsOf } from './request-text.ts';

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
  const { attempts } = row;
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

/** The axis is logarithmic: it shows both 300 ms and two minutes without rescaling. */
const KNEE_MS = 250;
const END_MS = 180_000;
const SPAN = Math.log1p(END_MS / KNEE_MS);

export const AXIS_TICKS_MS = [0, 1_000, 5_000, 30_000, 120_000] as const;

/** Position on the axis in percent of its width; everything beyond three minutes is at the end. */
export const axisPercent = (ms: number): number =>
  (100 * Math.log1p(Math.min(Math.max(ms, 0), END_MS) / KNEE_MS)) / SPAN;

interface WaterfallProps {
  readonly row: RequestRow;
  readonly elapsedMs: number;
}

export function Waterfall({ row, elapsedMs }: WaterfallProps) {
  const segments = segmentsOf(row, elapsedMs);
  const isDouble = segments.some(({ lane }) => lane === 1);
  const running = row.state === 'running';
  return (
    <span
      className="waterfall"
      aria-hidden="true"
      data-double={isDouble || undefined}
      data-running={running || undefined}
    >
      {segments.map(({ kind, attempt, lane, left, width }) => (
        <span
          // The key is unique: an attempt has at most one segment of a kind.
          key={`${attempt}-${kind}`}
          className="stretch"
          data-kind={kind}
          data-lane={lane}
          style={{ left: `${left}%`, width: `${width}%` }}
        />
      ))}
      {marksOf(row, segments).map(({ kind, attempt, lane, at }) => (
        <span
          key={`${attempt}-${kind}`}
          className="mark"
          data-kind={kind}
          data-lane={lane}
          style={{ left: `${at}%` }}
        />
      ))}
    </span>
  );
}

interface Mark {
  readonly kind: 'hedge' | 'handover';
  readonly attempt: number;
  readonly lane: Lane;
  readonly at: number;
}

export function marksOf(row: RequestRow, segments: readonly Segment[]): readonly Mark[] {
  const { attempts } = row;
  return spansOf(segments).flatMap(({ attempt: index, lane, left }): readonly Mark[] => {
    const attempt = attempts[index];
    if (attempt === undefined) return [];
    const mark = { attempt: index, lane, at: left };
    if (attempt.cause === 'hedge') return [{ kind: 'hedge', ...mark }];
    // An attempt that itself failed to resume hands nothing over.
    const isHandover = attempt.cause === 'resume' && brokenBefore(attempts, index) === index - 1;
    return isHandover ? [{ kind: 'handover', ...mark }] : [];
  });
}

type Span = Pick<Segment, 'attempt' | 'lane' | 'left' | 'width'>;

/** The span from the first to the last segment of each attempt. */
function spansOf(segments: readonly Segment[]): readonly Span[] {
  const spans = new Map<number, Span>();
  for (const { attempt, lane, left, width } of segments) {
    const first = spans.get(attempt)?.left ?? left;
    spans.set(attempt, { attempt, lane, left: first, width: left + width - first });
  }
  return [...spans.values()];
}

/** `stretch`: a span of time; `mark`: a moment. */
const ENTRIES = [
  ['stretch', ['waiting', 'answering', 'silent', 'failed', 'outrun', 'broken', 'starting']],
  ['mark', ['hedge', 'handover']],
] as const;

/** Is closed at first, because it explains what the words of each row say as well. */
export function Legend() {
  return (
    <details className="legend-box quiet">
      <summary>What the bars mean</summary>
      <ul className="legend">
        {ENTRIES.flatMap(([look, kinds]) =>
          kinds.map((kind) => (
            <li key={kind}>
              <span className={look} data-kind={kind} aria-hidden="true" />
              {t.requests.legend[kind]}
            </li>
          )),
        )}
        <li>time axis is logarithmic</li>
      </ul>
    </details>
  );
}
