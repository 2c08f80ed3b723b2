import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { formatDuration } from '../model/format.ts';
import { reasonText } from '../model/reason-text.ts';
import type { Labels } from '../model/request-words.ts';
import { isSkip } from '../model/waterfall.ts';

interface AttemptTableProps {
  readonly row: RequestRow;
  readonly labels: Labels;
  readonly elapsedMs: number;
}

/** Every attempt of a request, in order. */
export function AttemptTable({ row, labels, elapsedMs }: AttemptTableProps) {
  const hidden = row.attemptCount - row.attempts.length;
  if (row.attempts.length === 0) return <p className="quiet">No upstream was asked.</p>;
  return (
    <>
      <table className="attempts">
        <thead>
          <tr>
            <th scope="col">Upstream</th>
            <th scope="col">Result</th>
            <th scope="col">Began</th>
            <th scope="col">First token</th>
            <th scope="col">Took</th>
          </tr>
        </thead>
        <tbody>
          {row.attempts.map((attempt) => {
            const { upstream, startMs, firstContentMs, endMs } = attempt;
            return (
              <tr key={`${upstream}-${startMs}`}>
                <th scope="row">{labels.get(upstream) ?? upstream}</th>
                <td>{resultOf(attempt, row)}</td>
                <td>+{formatDuration(startMs)}</td>
                <td>{firstContentMs === null ? '–' : formatDuration(firstContentMs - startMs)}</td>
                <td>{isSkip(attempt) ? '–' : formatDuration((endMs ?? elapsedMs) - startMs)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {hidden > 0 && <p className="quiet">and {hidden} more attempts, which are not kept.</p>}
    </>
  );
}

function resultOf(attempt: AttemptRow, row: RequestRow): string {
  if (attempt.reason !== null) return reasonText(attempt.reason);
  if (attempt.endMs === null) return attempt.firstContentMs === null ? 'waiting' : 'answering';
  if (row.state === 'broken') return 'broke off';
  return row.state === 'cancelled' ? 'cancelled by the caller' : 'answered';
}
