import { useEffect, useRef } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { Labels } from './attempt-names.ts';
import { formatClock, formatDuration } from '../../text/format.ts';
import { storyOf } from './request-timeline.ts';
import { amountOf, outcomeOf, whoOf } from './request-text.ts';
import { elapsedOf } from './waterfall-model.ts';
import { AttemptTable } from './attempt-table.tsx';
import { CodeLine } from '../../ui/code-line.tsx';

interface RequestDialogProps {
  readonly row: RequestRow;
  readonly labels: Labels;
  readonly serverNow: number;
  readonly onClose: () => void;
}

/** Everything known about one request; updated while the request runs. */
export function RequestDialog({ row, labels, serverNow, onClose }: RequestDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const elapsedMs = elapsedOf(row, serverNow);
  const { tone, word } = outcomeOf(row);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby="dialog-title"
      closedby="any"
      onClose={onClose}
    >
      <header>
        <h2 id="dialog-title">
          Request at {formatClock(row.startedAt)}{' '}
          <span className="pill" data-tone={tone}>
            {word}
          </span>
        </h2>
        <form method="dialog">
          <button type="submit" className="button">
            Close
          </button>
        </form>
      </header>
      <p className="story">{storyOf(row, labels)}.</p>
      <dl className="facts">
        <Fact
          label="Answered by"
          value={row.upstream ? whoOf(row, labels) : NO_UPSTREAM[row.state]}
        />
        <Fact label="Requested model" value={row.model ?? 'not specified'} />
        <Fact label="Took" value={formatDuration(elapsedMs)} />
        <Fact
          label="Answer"
          value={
            [row.stream ? 'streamed' : '', amountOf(row)].filter(Boolean).join(', ') ||
            'not streamed'
          }
        />
        <Fact label="HTTP status" value={row.status === null ? 'not yet' : String(row.status)} />
      </dl>
      <h3>Attempts</h3>
      <AttemptTable row={row} labels={labels} elapsedMs={elapsedMs} />
      <h3>Fallback reason</h3>
      <CodeLine text={row.fallbackReason} what="fallback reason" />
      <h3>Request id</h3>
      <CodeLine text={row.id} what="request id" />
    </dialog>
  );
}

const NO_UPSTREAM = {
  running: 'none yet',
  done: 'none',
  failed: 'none',
  broken: 'none',
  cancelled: 'none',
} as const satisfies Record<RequestRow['state'], string>;

function Fact({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}
