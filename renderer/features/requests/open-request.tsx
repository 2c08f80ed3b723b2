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
  /** The list from which the request was opened, newest first. */
  readonly rows: readonly RequestRow[];
  /** Reads older requests of the list. */
  readonly onEnd?: () => void;
}

/** The details of the open request, if any. */
export function OpenRequest(props: OpenRequestProps) {
  const { data, labels, now, details, requests, rows, onEnd } = props;
  const { id } = details;
  const isOpen = (row: RequestRow) => row.id === id;
  const inList = rows.find(isOpen);
  const { row, note } = useOneRequest(requests, id, inList ?? data.requests.find(isOpen));

  // Its neighbours are known once the list reaches back to it.
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
