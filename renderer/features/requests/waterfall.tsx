import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { OUTRUN } from '#shared/reasons.ts';
import { reasonText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';
import { type Labels, nameOf } from './attempt-names.ts';
import {
  axisPercent,
  brokenBefore,
  drawnOf,
  type Lane,
  type Segment,
  segmentsOf,
} from './waterfall-model.ts';

interface WaterfallProps {
  readonly row: RequestRow;
  readonly labels: Labels;
  readonly elapsedMs: number;
}

export function Waterfall({ row, labels, elapsedMs }: WaterfallProps) {
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
          // Unique: an attempt has at most one segment of a kind.
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
      {notesOf(row, labels, segments).map(({ text, lane, left, width, about }) => (
        <span
          key={`${lane}-${about}-${text}`}
          className="note"
          data-about={about}
          data-lane={lane}
          style={{ left: `${left}%`, width: `${width}%` }}
        >
          {text}
        </span>
      ))}
    </span>
  );
}

interface Mark {
  readonly kind: 'hedge' | 'handover' | 'predicted';
  readonly attempt: number;
  readonly lane: Lane;
  readonly at: number;
}

/** A few words in an empty part of a lane, in percent of the axis. */
interface Note {
  readonly text: string;
  readonly lane: Lane;
  readonly left: number;
  readonly width: number;
  /** Whether they describe the segment after or before them. */
  readonly about: 'next' | 'before';
}

/** The least room for one word, and for a few words between two calls. */
const MIN_NOTE_PERCENT = { word: 9, words: 30 } as const;

export function marksOf(row: RequestRow, segments: readonly Segment[]): readonly Mark[] {
  const attempts = drawnOf(row);
  return spansOf(segments).flatMap(({ attempt: index, lane, left }) => {
    const attempt = attempts[index];
    if (attempt === undefined) return [];
    const { cause, predictedMs } = attempt;
    const marks: Mark[] = [];
    if (cause === 'hedge') marks.push({ kind: 'hedge', attempt: index, lane, at: left });
    // No handover from an attempt that itself failed to resume.
    if (cause === 'resume' && brokenBefore(attempts, index) === index - 1) {
      marks.push({ kind: 'handover', attempt: index, lane, at: left });
    }
    if (predictedMs !== null) {
      const at = Math.max(left, axisPercent(predictedMs));
      marks.push({ kind: 'predicted', attempt: index, lane, at });
    }
    return marks;
  });
}

/** The notes of a waterfall, at most one per gap and none without room; the row says the same in words. */
export function notesOf(
  row: RequestRow,
  labels: Labels,
  segments: readonly Segment[],
): readonly Note[] {
  const attempts = drawnOf(row);
  const spans = spansOf(segments);
  return ([0, 1] as const).flatMap((lane) =>
    gapsOf(spans.filter((span) => span.lane === lane)).flatMap(({ before, next, left, width }) => {
      const place = { lane, left, width };
      if (width < MIN_NOTE_PERCENT.word) return [];
      const after = before === null ? null : wordsAfter(before.attempt, { row, attempts, labels });
      if (after !== null) {
        const isShown = next === null || width >= MIN_NOTE_PERCENT.words;
        return isShown ? [note(after, place, 'before')] : [];
      }
      const isHedge = next !== null && attempts[next.attempt]?.cause === 'hedge';
      return isHedge ? [note(t.requests.notes.hedge, place, 'next')] : [];
    }),
  );
}

const note = (text: string, place: Omit<Note, 'text' | 'about'>, about: Note['about']): Note => ({
  text,
  ...place,
  about,
});

interface Gap {
  readonly before: Span | null;
  readonly next: Span | null;
  readonly left: number;
  readonly width: number;
}

function gapsOf(spans: readonly Span[]): readonly Gap[] {
  return [null, ...spans].map((before, index) => {
    const next = spans[index] ?? null;
    const left = before === null ? 0 : before.left + before.width;
    return { before, next, left, width: (next?.left ?? 100) - left };
  });
}

interface WaterfallParts {
  readonly row: RequestRow;
  readonly attempts: readonly AttemptRow[];
  readonly labels: Labels;
}

function wordsAfter(index: number, { row, attempts, labels }: WaterfallParts): string | null {
  const attempt = attempts[index];
  if (attempt?.reason === OUTRUN) return reasonText(OUTRUN);
  if (attempt?.firstContentMs === null) return null;
  const carrier = attempts.find(
    ({ cause, reason, firstContentMs }, at) =>
      cause === 'resume' &&
      brokenBefore(attempts, at) === index &&
      (reason === null || firstContentMs !== null),
  );
  return carrier === undefined ? null : t.requests.notes.resumedBy(nameOf(carrier, row, labels));
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
  ['mark', ['hedge', 'handover', 'predicted']],
] as const;

/** Closed at first: it explains what the words of each row say as well. */
export function Legend() {
  return (
    <details className="legend-box">
      <summary>{t.requests.legend.label}</summary>
      <ul className="legend">
        {ENTRIES.flatMap(([look, kinds]) =>
          kinds.map((kind) => (
            <li key={kind}>
              <span className={look} data-kind={kind} aria-hidden="true" />
              {t.requests.legend[kind]}
            </li>
          )),
        )}
        <li>{t.requests.legend.scale}</li>
      </ul>
    </details>
  );
}
