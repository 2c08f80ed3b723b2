import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { nameOf, type Labels } from './attempt-names.ts';
import { causeText, resultText } from './attempt-text.ts';
import { circuitText } from './circuit-text.ts';
import { formatDuration, formatPlural } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import { skippedUpstreams } from './skipped-upstreams.ts';
import { isSkip } from './waterfall-model.ts';

interface AttemptTableProps {
  readonly row: RequestRow;
  readonly labels: Labels;
  readonly elapsedMs: number;
}

/** Every attempt of a request, in order, after the upstreams that were skipped. */
export function AttemptTable({ row, labels, elapsedMs }: AttemptTableProps) {
  const hidden = row.attemptCount - row.attempts.length;
  const skips = skippedUpstreams(row);
  if (row.attempts.length + skips.length === 0) {
    return <p className="quiet">No upstream was called.</p>;
  }
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
          {skips.map(({ upstream, reason }) => (
            <tr key={upstream} className="skip">
              <th scope="row">{labels.get(upstream) ?? upstream}</th>
              <td>not called</td>
              <td colSpan={4}>skipped: {reasonText(reason)}</td>
            </tr>
          ))}
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
  const { startMs, firstContentMs, predictedMs, endMs, model, error } = attempt;
  return (
    <tr>
      <th scope="row">
        {nameOf(attempt, row, labels)}
        {model !== null && <span className="predicted"> {model}</span>}
      </th>
      <td>
        {causeText(attempt, row, labels)}
        {circuitText(attempt) !== 'closed' && (
          <span className="predicted"> circuit {circuitText(attempt)}</span>
        )}
      </td>
      <td>
        {resultText(attempt, row)}
        {error !== null && <span className="predicted attempt-error"> {error}</span>}
        {attempt.polls > 0 && (
          <span className="predicted">
            {' '}
            polled {formatPlural(attempt.polls, 'time')} as it started
          </span>
        )}
      </td>
      <td data-label="Started">+{formatDuration(startMs)}</td>
      <td data-label="First token">
        {firstContentMs === null ? '–' : formatDuration(firstContentMs - startMs)}
        {predictedMs !== null && (
          <span className="predicted"> predicted {formatDuration(predictedMs - startMs)}</span>
        )}
      </td>
      <td data-label="Took">
        {isSkip(attempt) ? '–' : formatDuration((endMs ?? elapsedMs) - startMs)}
      </td>
    </tr>
  );
}
