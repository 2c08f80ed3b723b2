import { useEffect } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { LiveData } from '../../api/live-data.ts';
import type { Requests } from '../../api/requests.ts';
import type { OpenDetails } from '../../use-open-request.ts';
import { type Labels, labelsWith } from './attempt-names.ts';
import { neighboursOf, RequestDialog } from './request-dialog.tsx';
import { useOneRequest } from './use-one-request.ts';

interface OpenRequestProps {
  readonly data: LiveData;
  readonly labels: Labels;
  readonly now: number;
  readonly details: OpenDetails;
  readonly requests: Requests;
  /** The list that it was opened from, newest first. */
  readonly rows: readonly RequestRow[];
  /** Reads older ones of the list. */
  readonly onEnd?: () => void;
}

/** The details of the request that is open, where one is. */
export function OpenRequest(props: OpenRequestProps) {
  const { data, labels, now, details, requests, rows, onEnd } = props;
  const { id } = details;
  const isOpen = (row: RequestRow) => row.id === id;
  const inList = rows.find(isOpen);
  const { row, note } = useOneRequest(requests, id, inList ?? data.requests.find(isOpen));

  // Its place among the others is known once the list reaches so far back.
  const isAtEnd = id !== null && (inList === undefined || inList === rows.at(-1));
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, onEnd]);

  if (id === null) return null;
  return (
    <RequestDialog
      {...{ id, row, note }}
      neighbours={neighboursOf(rows, row?.startedAt ?? null, id)}
      labels={labelsWith(row, labels)}
      version={data.app.version}
      serverNow={now + data.skewMs}
      onGo={details.go}
      onClose={details.close}
    />
  );
}
