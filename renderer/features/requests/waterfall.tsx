import type { RequestRow } from '#shared/live.ts';
import type { Labels } from './attempt-names.ts';
import { marksOf, notesOf } from './waterfall-notes.ts';
import { segmentsOf } from './waterfall-model.ts';

interface WaterfallProps {
  readonly row: RequestRow;
  readonly labels: Labels;
  readonly elapsedMs: number;
}

/** A request's segments on the common time axis; the row says the same in words. */
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
