import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react';
import { firstTokenMsOf, type RequestRow, type AttemptRow } from '#shared/live.ts';
import type { Requests } from '../../api/requests.ts';
import { hashOf, type Route } from '../../route.ts';
import { formatDuration, formatMoment } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { Button } from '../../ui/button.tsx';
import { CodeLine } from '../../ui/code-line.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Fact } from '../../ui/facts.tsx';
import { Modal } from '../../ui/modal.tsx';
import { useWindow } from '../../window-context.ts';
import { type Labels, labelsWith, wholeNameOf } from './attempt-names.ts';
import { bugReportOf } from './bug-report.ts';
import { CodeSample } from './code-sample.tsx';
import { codeSamples } from './code-samples.ts';
import { storyOf } from './request-story.ts';
import { amountOf, outcomeWords, whoOf } from './request-text.ts';
import { elapsedOf, isSkip } from './waterfall-model.ts';
import { reasonText } from '../../text/reason-text.ts';
import { causeText, circuitText, resultText, skippedUpstreams, usageText } from './attempt-text.ts';

interface OpenRequestProps {
  readonly labels: Labels;
  readonly details: OpenDetails;
  /** The list from which the request was opened, newest first. */
  readonly rows: readonly RequestRow[];
  /** Reads older requests of the list. */
  readonly onEnd?: () => void;
}

/** The details of the open request, if any, updated while it runs. */
export function OpenRequest({ labels, details, rows, onEnd }: OpenRequestProps) {
  const { data, now, requests } = useWindow();
  const { id } = details;
  const serverNow = now + data.skewMs;
  const isOpen = (row: RequestRow) => row.id === id;
  const inList = rows.find(isOpen);
  const { row, note } = useOneRequest(requests, id, inList ?? data.requests.find(isOpen));
  const names = labelsWith(row, labels);

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
  return (
    <Modal
      title={row === null ? words.title : <Title row={row} serverNow={serverNow} />}
      nav={
        <>
          <Step word={words.newer} to={newer} onGo={details.go} />
          <Step word={words.older} to={older} onGo={details.go} />
        </>
      }
      onClose={details.close}
      onKeyDown={onKeyDown}
    >
      {row === null ? (
        <p className="story">{note ?? words.reading}</p>
      ) : (
        <Details row={row} labels={names} elapsedMs={elapsedOf(row, serverNow)} />
      )}
      {row !== null && <Code row={row} baseUrl={data.app.baseUrl} />}
      <h3>{words.id}</h3>
      <CodeLine text={id} what={words.theId} />
      {row !== null && (
        <p className="bug-report">
          <CopyButton
            text={bugReportOf(row, names, data.app.version)}
            what={words.report}
            isNamed
          />{' '}
          <span className="quiet">{words.reportNote}</span>
        </p>
      )}
    </Modal>
  );
}

const words = t.requestDetails;

interface OneRequest {
  readonly row: RequestRow | null;
  /** Why the request is unknown; null while it is being read. */
  readonly note: string | null;
}

/** A request from the list; one that is not, or no longer, in the list is read from the gateway. */
function useOneRequest(
  { readOne }: Requests,
  id: string | null,
  listed: RequestRow | undefined,
): OneRequest {
  const [known, setKnown] = useState<{ readonly id: string; readonly one: OneRequest } | null>(
    null,
  );
  // Kept, so that it stays readable when it leaves the list.
  if (listed !== undefined && listed !== known?.one.row) {
    setKnown({ id: listed.id, one: { row: listed, note: null } });
  }
  const isUnknown = id !== null && known?.id !== id;
  useEffect(() => {
    if (!isUnknown) return undefined;
    let isOver = false;
    const read = async () => {
      const answer = await readOne(id);
      if (isOver) return;
      if (answer.ok) setKnown({ id, one: { row: answer.value, note: null } });
      else setKnown({ id, one: { row: null, note: noteOn(answer) } });
    };
    void read();
    return () => {
      isOver = true;
    };
  }, [readOne, id, isUnknown]);
  return known?.id === id ? known.one : BEING_READ;
}

const BEING_READ: OneRequest = { row: null, note: null };

function noteOn({
  status,
  refusal,
}: Extract<Awaited<ReturnType<Requests['readOne']>>, { ok: false }>): string {
  return status === 404 ? t.requestDetails.unknown : refusal.message;
}

/** The next newer and next older request in the list; null at its ends. */
export function neighboursOf(rows: readonly RequestRow[], startedAt: number | null, id: string) {
  const at = rows.findIndex((row) => row.id === id);
  if (at >= 0) return { newer: rows[at - 1]?.id ?? null, older: rows[at + 1]?.id ?? null };
  if (startedAt === null) return { newer: null, older: null };
  // A request that is not in the list is placed by its start.
  const newer = rows.filter((row) => row.startedAt >= startedAt);
  return { newer: newer.at(-1)?.id ?? null, older: rows[newer.length]?.id ?? null };
}

interface StepProps {
  readonly word: string;
  readonly to: string | null;
  readonly onGo: (id: string) => void;
}

function Step({ word, to, onGo }: StepProps) {
  return (
    <Button aria-disabled={to === null} onClick={() => to !== null && onGo(to)}>
      {word}
    </Button>
  );
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
      {words.titleAt(formatMoment(row.startedAt, serverNow))}
      <span className="pill" data-tone={tone}>
        {word}
      </span>
    </>
  );
}

function Details({ row, labels, elapsedMs }: DetailsProps) {
  const amount = row.tokens === null ? amountOf(row) : t.usage.tokens(row.tokens);
  const answer = [row.stream ? words.streamed : '', amount].filter(Boolean).join(', ');
  return (
    <>
      <p className="story">{t.story.whole(storyOf(row, labels))}</p>
      <dl className="facts">
        <Fact
          label={words.answeredBy}
          value={row.upstream ? whoOf(row, labels, wholeNameOf) : noUpstream(row)}
        />
        <Fact label={words.endpoint} value={row.endpoint} />
        <Fact label={words.model} value={row.model ?? words.noModel} />
        <Fact label={words.took} value={formatDuration(elapsedMs)} />
        <Fact label={words.answer} value={answer || words.notStreamed} />
        <Fact
          label={words.status}
          value={row.status === null ? words.noStatus : String(row.status)}
        />
        {callerFacts(row).map((fact) => (
          <Fact key={fact.label} {...fact} />
        ))}
      </dl>
      <h3>{words.attempts}</h3>
      <AttemptTable row={row} labels={labels} elapsedMs={elapsedMs} />
      <h3>{words.reason}</h3>
      <CodeLine text={row.fallbackReason} what={words.theReason} />
    </>
  );
}

interface CodeProps {
  readonly row: RequestRow;
  readonly baseUrl: string;
}

/** The request as code: as it came, but for its prompt. */
function Code({ row, baseUrl }: CodeProps) {
  const { endpoint, model, stream, caller } = row;
  const request = { baseUrl, endpoint, model, stream, needsKey: caller.key !== null };
  if (codeSamples(request) === null) return null;
  return (
    <>
      <h3>{words.code}</h3>
      <CodeSample request={request} />
    </>
  );
}

function callerFacts({ caller, key: name }: RequestRow) {
  const { key, address, userAgent } = caller;
  return [
    { label: words.key, value: name === null || key === null ? key : words.namedKey(name, key) },
    { label: words.from, value: address },
    { label: words.app, value: userAgent, isWide: true },
  ].flatMap(({ value, ...fact }) => (value === null ? [] : [{ ...fact, value }]));
}

function noUpstream({ state }: RequestRow): string {
  return state === 'running' ? words.noUpstreamYet : words.noUpstream;
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
  const wasOpenedHere = useRef(false);

  const listHash = hashOf(list);
  const latest = useRef(list);
  useEffect(() => {
    latest.current = list;
  });
  // Stable, because rows are rendered once and keep it.
  const open = useCallback((next: string) => {
    wasOpenedHere.current = true;
    location.hash = hashOf({ ...latest.current, request: next });
  }, []);
  return {
    /** The page to render: the one behind the details if they are open. */
    page: isOpen ? behind : route,
    id: id ?? null,
    open,
    /** Replaces the open request with another. */
    go: (next: string) => location.replace(hashOf({ ...list, request: next })),
    close: () => {
      if (!isOpen) return;
      if (wasOpenedHere.current) history.back();
      else location.replace(listHash);
      wasOpenedHere.current = false;
    },
  };
}

interface AttemptTableProps {
  readonly row: RequestRow;
  readonly labels: Labels;
  readonly elapsedMs: number;
}

const attemptWords = t.attempts;

/** The attempts of a request in order, after the skipped upstreams. */
function AttemptTable({ row, labels, elapsedMs }: AttemptTableProps) {
  const hidden = row.attemptCount - row.attempts.length;
  const skips = skippedUpstreams(row);
  if (row.attempts.length + skips.length === 0) {
    return <p className="quiet">{attemptWords.none}</p>;
  }
  return (
    <>
      <table className="attempts">
        <thead>
          <tr>
            {attemptWords.columns.map((column) => (
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
              <td>{attemptWords.notCalled}</td>
              <td colSpan={4}>{attemptWords.skipped(reasonText(reason))}</td>
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
      {hidden > 0 && <p className="quiet">{attemptWords.more(hidden)}</p>}
    </>
  );
}

function Attempt({
  attempt,
  row,
  labels,
  elapsedMs,
}: AttemptTableProps & { readonly attempt: AttemptRow }) {
  const { startMs, predictedMs, endMs, model, error } = attempt;
  const firstTokenMs = firstTokenMsOf(attempt);
  const usage = usageText(attempt);
  return (
    <tr>
      <th scope="row">
        {wholeNameOf(attempt, row, labels)}
        {model !== null && <span className="predicted"> {model}</span>}
      </th>
      <td>
        {causeText(attempt, row, labels)}
        {(attempt.circuitBefore !== 'closed' ||
          circuitText(attempt) !== attemptWords.circuits.closed) && (
          <span className="predicted"> {attemptWords.circuit(circuitText(attempt))}</span>
        )}
      </td>
      <td>
        {resultText(attempt, row)}
        {error !== null && <span className="predicted attempt-error"> {error}</span>}
        {usage !== null && <span className="predicted"> {usage}</span>}
        {attempt.cutAtTokens !== null && (
          <span className="predicted attempt-error"> {attemptWords.cut(attempt.cutAtTokens)}</span>
        )}
        {attempt.polls > 0 && (
          <span className="predicted"> {attemptWords.polled(attempt.polls)}</span>
        )}
      </td>
      <td data-label={attemptWords.started}>{attemptWords.startedAt(formatDuration(startMs))}</td>
      <td data-label={attemptWords.firstToken}>
        {firstTokenMs === null ? '–' : formatDuration(firstTokenMs)}
        {predictedMs !== null && (
          <span className="predicted">
            {' '}
            {attemptWords.predicted(formatDuration(predictedMs - startMs))}
          </span>
        )}
      </td>
      <td data-label={attemptWords.took}>
        {isSkip(attempt) ? '–' : formatDuration((endMs ?? elapsedMs) - startMs)}
      </td>
    </tr>
  );
}
