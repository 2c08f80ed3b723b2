import { useMemo } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { LiveData } from '../../api/live-data.ts';
import { labelsOf } from './attempt-names.ts';
import { elapsedOf } from './waterfall-model.ts';
import { RequestLine } from './request-row.tsx';
import { TimeAxis } from './time-axis.tsx';

interface RequestListProps {
  readonly rows: readonly RequestRow[];
  readonly data: LiveData;
  readonly now: number;
  readonly onSelect: (row: RequestRow) => void;
}

/** Requests on a common time axis, newest first. */
export function RequestList({ rows, data, now, onSelect }: RequestListProps) {
  // Keyed by the names themselves: every report is a new object, and rows must not redraw for it.
  const names = JSON.stringify([...labelsOf(data.status.upstreams)]);
  const labels = useMemo(() => new Map(JSON.parse(names) as [string, string][]), [names]);
  return (
    <div className="request-list">
      <TimeAxis />
      <ol>
        {rows.map((row) => (
          <RequestLine
            key={row.id}
            row={row}
            labels={labels}
            elapsedMs={elapsedOf(row, now + data.skewMs)}
            onSelect={onSelect}
          />
        ))}
      </ol>
    </div>
  );
}
