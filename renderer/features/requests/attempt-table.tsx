import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { nameOf, type Labels } from './attempt-names.ts';
import { causeText, resultText } from './attempt-text.ts';
import { formatDuration, formatPlural } from '../../text/format.ts';
import { isSkip } from './waterfall-model.ts';

interface AttemptTableProps {
  readonly row: RequestRow;
  readonly labels: Labels;
  readonly elapsedMs: number;
}

/** Every attempt of a request, in order. */
export function AttemptTable({ row, labels, elapsedMs }: AttemptTableProps) {
  const hidden = row.attemptCount - row.attempts.length;
  if (row.attempts.length === 0) return <p className="quiet">No upstream was called.</p>;
  return (
    <>
      <table className="attempts">
        <thead>
          <tr>
            <th scope="col">Upstream</th>
            <th scope="col">Called because</th>
            <th scope="col">Result</th>
            <th scope="col">Started</th>
            <th scope="col">First token</th>
            <th scope="col">Took</th>
          </tr>
        </thead>
        <tbody>
          {row.attempts.map((attempt) => (
            <Attempt
              key={`${attempt.upstream}-${attempt.provider}-${attempt.startMs}`}
              {...{ attempt, row, labels, elapsedMs }}
            />
          ))}
        </tbody>
      </table>
      {hidden > 0 && <p className="quiet">and {hidden} more attempts that were not kept.</p>}
    </>
  );
}

function Attempt({
  attempt,
  row,
  labels,
  elapsedMs,
}: AttemptTableProps & { readonly attempt: AttemptRow }) {
  const { startMs, firstContentMs, predictedMs, endMs } = attempt;
  return (
    <tr>
      <th scope="row">{nameOf(attempt, row, labels)}</th>
      <td>{causeText(attempt, row, labels)}</td>
      <td>
        {resultText(attempt, row)}
        {attempt.polls > 0 && (
          <span className="predicted">
            {' '}
            polled {formatPlural(attempt.polls, 'time')} as it started
          </span>
        )}
      </td>
      <td>+{formatDuration(startMs)}</td>
      <td>
        {firstContentMs === null ? '–' : formatDuration(firstContentMs - startMs)}
        {predictedMs !== null && (
          <span className="predicted"> predicted {formatDuration(predictedMs - startMs)}</span>
        )}
      </td>
      <td>{isSkip(attempt) ? '–' : formatDuration((endMs ?? elapsedMs) - startMs)}</td>
    </tr>
  );
}
