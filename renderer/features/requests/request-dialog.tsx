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

/** Everything known about one request; it goes on living while the request does. */
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
        <Fact label="Answered by" value={row.upstream ? whoOf(row, labels) : NOBODY[row.state]} />
        <Fact label="Model asked for" value={row.model ?? 'none'} />
        <Fact label="Took" value={formatDuration(elapsedMs)} />
        <Fact
          label="Answer"
          value={[row.stream ? 'stream' : 'whole', amountOf(row)].filter(Boolean).join(', ')}
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

const NOBODY = {
  running: 'nobody yet',
  done: 'nobody',
  failed: 'nobody',
  broken: 'nobody',
  cancelled: 'nobody',
} as const satisfies Record<RequestRow['state'], string>;

function Fact({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}
