import { TIMES } from '../../text/en/nouns.ts';
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react';
import { firstTokenMsOf, type RequestRow, type AttemptRow } from '#shared/live.ts';
import type { Requests } from '../../api/requests.ts';
import { hashOf, type Route } from '../../route.ts';
import {
  formatDuration,
  formatMoment,
  formatCount,
  counted,
  formatMoney,
} from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { Button, CodeLine } from '../../ui/buttons.tsx';
import { Fact } from '../../ui/facts.tsx';
import { Modal } from '../../ui/modal.tsx';
import { useWindow } from '../../window-context.ts';
import {
  amountOf,
  answeredModel,
  isReplaced,
  causeText,
  type Labels,
  labelsWith,
  outcomeWords,
  pauseText,
  resultText,
  skippedUpstreams,
  storyOf,
  usageText,
  wholeNameOf,
  whoOf,
} from './request-text.ts';
import { elapsedOf } from './waterfall.tsx';
import { reasonText } from '../../text/reason-text.ts';

interface OpenRequestProps {
  readonly labels: Labels;
  readonly details: OpenDetails;
  readonly rows: readonly RequestRow[];
  readonly onEnd?: () => void;
}

export function OpenRequest({ labels, details, rows, onEnd }: OpenRequestProps) {
  const { data, now, requests } = useWindow();
  const { id } = details;
  const serverNow = now + data.skewMs;
  const isOpen = (row: RequestRow) => row.id === id;
  const inList = rows.find(isOpen);
  const { row, note } = useOneRequest(requests, id, inList ?? data.requests.find(isOpen));

  // Its neighbours are known once the list reaches back to it.
  const isAtEnd = id !== null && (inList === undefined || inList === rows.at(-1));
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, onEnd]);

  if (id === null) return null;
  const { newer, older } = neighboursOf(rows, row?.startedAt ?? null, id);
  const onKeyDown = ({ key }: KeyboardEvent) => {
    const to = key === 'ArrowLeft' || key === 'k' ? newer : null;
    const next = key === 'ArrowRight' || key === 'j' ? older : to;
    if (next !== null) details.go(next);
  };
  const step = (word: string, to: string | null) => (
    <Button aria-disabled={to === null} onClick={() => to !== null && details.go(to)}>
      {word}
    </Button>
  );
  return (
    <Modal
      title={row === null ? 'Request' : <Title row={row} serverNow={serverNow} />}
      nav={
        <>
          {step('Newer', newer)}
          {step('Older', older)}
        </>
      }
      onClose={details.close}
      onKeyDown={onKeyDown}
    >
      {row === null ? (
        <p className="story">{note ?? 'Loading…'}</p>
      ) : (
        <Details row={row} labels={labelsWith(row, labels)} elapsedMs={elapsedOf(row, serverNow)} />
      )}
      <h3>Request id</h3>
      <CodeLine text={id} what="request id" />
    </Modal>
  );
}

interface OneRequest {
  readonly row: RequestRow | null;
  /** Why the request is unknown; null while it is being read. */
  readonly note: string | null;
}

function useOneRequest(
  { readOne }: Requests,
  id: string | null,
  listed: RequestRow | undefined,
): OneRequest {
  const [known, setKnown] = useState<(OneRequest & { readonly id: string }) | null>(null);
  // The row is kept, so that it stays readable when it leaves the list.
  if (listed !== undefined && listed !== known?.row) {
    setKnown({ id: listed.id, row: listed, note: null });
  }
  const isUnknown = id !== null && known?.id !== id;
  useEffect(() => {
    if (!isUnknown) return undefined;
    let isOver = false;
    const read = async () => {
      const answer = await readOne(id);
      if (isOver) return;
      if (answer.ok) setKnown({ id, row: answer.value, note: null });
      else {
        const note =
          answer.status === 404
            ? 'This request is no longer on record, or it belongs to another gateway.'
            : answer.refusal.message;
        setKnown({ id, row: null, note });
      }
    };
    void read();
    return () => {
      isOver = true;
    };
  }, [readOne, id, isUnknown]);
  return known?.id === id ? known : BEING_READ;
}

const BEING_READ: OneRequest = { row: null, note: null };

/** The next newer and next older request in the list; null at its ends. */
export function neighboursOf(rows: readonly RequestRow[], startedAt: number | null, id: string) {
  const at = rows.findIndex((row) => row.id === id);
  if (at >= 0) return { newer: rows[at - 1]?.id ?? null, older: rows[at + 1]?.id ?? null };
  if (startedAt === null) return { newer: null, older: null };
  // A request that is not in the list is placed by its start.
  const newer = rows.filter((row) => row.startedAt >= startedAt);
  return { newer: newer.at(-1)?.id ?? null, older: rows[newer.length]?.id ?? null };
}

interface DetailsProps {
  readonly row: RequestRow;
  readonly labels: Labels;
  readonly elapsedMs: number;
}

function Title({ row, serverNow }: { readonly row: RequestRow; readonly serverNow: number }) {
  const { tone, word } = outcomeWords(row, elapsedOf(row, serverNow));
  return (
    <>
      {`Request at ${formatMoment(row.startedAt, serverNow)} `}
      <span className="pill" data-tone={tone}>
        {word}
      </span>
    </>
  );
}

function Details({ row, labels, elapsedMs }: DetailsProps) {
  const { endpoint, model, stream, caller, key: name, tokens, status, state, spentNano } = row;
  const { currency } = useWindow().data.app;
  const amount = tokens === null ? amountOf(row) : t.usage.tokens(tokens);
  const answer = [stream ? 'streamed' : '', amount].filter(Boolean).join(', ');
  const { key, address, userAgent } = caller;
  const noUpstream = state === 'running' ? 'none yet' : 'none';
  const facts = [
    {
      label: 'Answered by',
      value: row.upstream ? whoOf(row, labels, wholeNameOf) : noUpstream,
    },
    { label: 'Endpoint', value: endpoint },
    { label: 'Requested model', value: model ?? 'not specified' },
    { label: 'Model that answered', value: isReplaced(row) ? answeredModel(row) : null },
    { label: 'Took', value: formatDuration(elapsedMs) },
    { label: 'Answer', value: answer || 'not streamed' },
    { label: 'Cost', value: spentNano === 0 ? null : formatMoney(spentNano, currency) },
    { label: 'HTTP status', value: status === null ? 'not yet' : String(status) },
    { label: 'Key', value: name === null || key === null ? key : `${name} (${key})` },
    { label: 'From', value: address },
    { label: 'App', value: userAgent, isWide: true },
  ];
  return (
    <>
      <p className="story">{`${storyOf(row, labels)}.`}</p>
      <dl className="facts">
        {facts.map((fact) => fact.value !== null && <Fact key={fact.label} {...fact} />)}
      </dl>
      <h3>Attempts</h3>
      <AttemptTable row={row} labels={labels} elapsedMs={elapsedMs} />
      {row.fallbackReason !== 'none' && (
        <>
          <h3>Fallback reason</h3>
          <CodeLine text={row.fallbackReason} what="fallback reason" />
        </>
      )}
    </>
  );
}

type RequestsRoute = Extract<Route, { readonly page: 'requests' }>;

export type OpenDetails = ReturnType<typeof useOpenRequest>;

/** The details of a request have their own address and lie over the page on which they were opened. */
export function useOpenRequest(route: Route) {
  const requests: RequestsRoute =
    route.page === 'requests' ? route : { page: 'requests', filter: 'all' };
  const { request: id, ...list } = requests;
  const isOpen = id !== undefined;
  const [behind, setBehind] = useState<Route>(isOpen ? list : route);
  if (!isOpen && behind !== route && hashOf(behind) !== hashOf(route)) setBehind(route);
  /** The request whose details lie over the entry of the history that lists it. */
  const overList = useRef<string | null>(null);

  const listHash = hashOf(list);
  const latest = useRef(list);
  useEffect(() => {
    latest.current = list;
  });
  // Stable, because rows are rendered once and keep it.
  const open = useCallback((next: string) => {
    overList.current = next;
    location.hash = hashOf({ ...latest.current, request: next });
  }, []);
  return {
    /** The page to render: the one behind the details if they are open. */
    page: isOpen ? behind : route,
    id: id ?? null,
    open,
    go: (next: string) => {
      if (overList.current === id) overList.current = next;
      location.replace(hashOf({ ...list, request: next }));
    },
    close: () => {
      if (!isOpen) return;
      if (overList.current === id) history.back();
      else location.replace(listHash);
    },
  };
}

function AttemptTable({ row, labels, elapsedMs }: DetailsProps) {
  const hidden = row.attemptCount - row.attempts.length;
  const skips = skippedUpstreams(row);
  if (row.attempts.length + skips.length === 0) {
    return <p className="quiet">No source was called.</p>;
  }
  return (
    <>
      <table className="attempts">
        <thead>
          <tr>
            {['Source', 'Called because', 'Result', 'Started', 'First token', 'Took'].map(
              (column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {skips.map(({ upstream, reason }) => (
            <tr key={upstream} className="skip">
              <th scope="row">{labels.get(upstream) ?? upstream}</th>
              <td>not called</td>
              <td colSpan={4}>{`skipped: ${reasonText(reason)}`}</td>
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
      {hidden > 0 && (
        <p className="quiet">{`and ${formatCount(hidden)} more attempts that were not kept.`}</p>
      )}
    </>
  );
}

function Attempt(props: DetailsProps & { readonly attempt: AttemptRow }) {
  const { attempt, row, labels, elapsedMs } = props;
  const { startMs, endMs, model, error, cutAtTokens, polls } = attempt;
  const firstTokenMs = firstTokenMsOf(attempt);
  return (
    <tr>
      <th scope="row">
        {wholeNameOf(attempt, row, labels)}
        <Aside text={model} />
      </th>
      <td>
        {causeText(attempt, row, labels)}
        <Aside text={pauseText(attempt)} />
      </td>
      <td>
        {resultText(attempt, row)}
        <Aside text={error} />
        <Aside text={usageText(attempt)} />
        <Aside
          text={
            cutAtTokens === null
              ? null
              : `read only ${formatCount(cutAtTokens)} tokens of a longer prompt: its context window is too small`
          }
        />
        <Aside text={polls > 0 ? `polled ${counted(polls, TIMES)} as it started` : null} />
      </td>
      <td data-label="Started">{`+${formatDuration(startMs)}`}</td>
      <td data-label="First token">{firstTokenMs === null ? '–' : formatDuration(firstTokenMs)}</td>
      <td data-label="Took">{formatDuration((endMs ?? elapsedMs) - startMs)}</td>
    </tr>
  );
}

/** Null if there is nothing to add. */
function Aside({ text }: { readonly text: string | null }) {
  return text !== null && <span className="aside quiet"> {text}</span>;
}
