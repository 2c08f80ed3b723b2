import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { formatDuration } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import { t } from '../../text/t.ts';
import { type Labels, wholeNameOf } from './attempt-names.ts';
import { causeText, circuitText, resultText, skippedUpstreams, usageText } from './attempt-text.ts';
import { isSkip } from './waterfall-model.ts';

interface AttemptTableProps {
  readonly row: RequestRow;
  readonly labels: Labels;
  readonly elapsedMs: number;
}

const words = t.attempts;

/** The attempts of a request in order, after the skipped upstreams. */
export function AttemptTable({ row, labels, elapsedMs }: AttemptTableProps) {
  const hidden = row.attemptCount - row.attempts.length;
  const skips = skippedUpstreams(row);
  if (row.attempts.length + skips.length === 0) {
    return <p className="quiet">{words.none}</p>;
  }
  return (
    <>
      <table className="attempts">
        <thead>
          <tr>
            {words.columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {skips.map(({ upstream, reason }) => (
            <tr key={upstream} className="skip">
              <th scope="row">{labels.get(upstream) ?? upstream}</th>
              <td>{words.notCalled}</td>
              <td colSpan={4}>{words.skipped(reasonText(reason))}</td>
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
      {hidden > 0 && <p className="quiet">{words.more(hidden)}</p>}
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
  const usage = usageText(attempt);
  return (
    <tr>
      <th scope="row">
        {wholeNameOf(attempt, row, labels)}
        {model !== null && <span className="predicted"> {model}</span>}
      </th>
      <td>
        {causeText(attempt, row, labels)}
        {(attempt.circuitBefore !== 'closed' || circuitText(attempt) !== words.circuits.closed) && (
          <span className="predicted"> {words.circuit(circuitText(attempt))}</span>
        )}
      </td>
      <td>
        {resultText(attempt, row)}
        {error !== null && <span className="predicted attempt-error"> {error}</span>}
        {usage !== null && <span className="predicted"> {usage}</span>}
        {attempt.cutAtTokens !== null && (
          <span className="predicted attempt-error"> {words.cut(attempt.cutAtTokens)}</span>
        )}
        {attempt.polls > 0 && <span className="predicted"> {words.polled(attempt.polls)}</span>}
      </td>
      <td data-label={words.started}>{words.startedAt(formatDuration(startMs))}</td>
      <td data-label={words.firstToken}>
        {firstContentMs === null ? '–' : formatDuration(firstContentMs - startMs)}
        {predictedMs !== null && (
          <span className="predicted">
            {' '}
            {words.predicted(formatDuration(predictedMs - startMs))}
          </span>
        )}
      </td>
      <td data-label={words.took}>
        {isSkip(attempt) ? '–' : formatDuration((endMs ?? elapsedMs) - startMs)}
      </td>
    </tr>
  );
}
