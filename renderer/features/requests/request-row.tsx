import { memo } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { Labels } from './attempt-names.ts';
import { formatClock, formatDuration } from '../../text/format.ts';
import { amountOf, outcomeWords, whoOf, whyOf } from './request-text.ts';
import { Waterfall } from './waterfall.tsx';
import { t } from '../../text/t.ts';

interface RequestLineProps {
  readonly row: RequestRow;
  readonly index: number;
  readonly count: number;
  /** True for the one row of the list that Tab stops at. */
  readonly isActive: boolean;
  readonly labels: Labels;
  readonly elapsedMs: number;
  readonly onSelect: (row: RequestRow) => void;
}

/** One request; memoised, so that a finished one is rendered once. */
export const RequestLine = memo(function RequestLine({
  row,
  index,
  count,
  isActive,
  labels,
  elapsedMs,
  onSelect,
}: RequestLineProps) {
  const { tone, word } = outcomeWords(row, elapsedMs);
  const why = whyOf(row, labels);
  return (
    <li
      aria-setsize={count}
      aria-posinset={index + 1}
      style={{ transform: `translateY(calc(var(--row) * ${index}))` }}
    >
      <button
        type="button"
        className="request"
        data-tone={tone}
        data-index={index}
        data-id={row.id}
        tabIndex={isActive ? 0 : -1}
        aria-haspopup="dialog"
        onClick={() => onSelect(row)}
      >
        <span className="request-time">{formatClock(row.startedAt)}</span>
        <span className="request-who">
          <span className="request-name">{whoOf(row, labels)}</span>
          <span className="request-why" title={why ?? undefined}>
            {why ?? row.model ?? t.requests.noModel}
          </span>
        </span>
        <Waterfall row={row} labels={labels} elapsedMs={elapsedMs} />
        <span className="request-result">
          <span className="request-word">{word}</span>
          <span className="request-took">{formatDuration(elapsedMs)}</span>
          <span className="request-amount">{amountOf(row)}</span>
        </span>
      </button>
    </li>
  );
});
