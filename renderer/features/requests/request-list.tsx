import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import { formatClock, formatDuration, formatCount } from '../../text/format.ts';
import { useInUse } from '../../ui/use-in-use.ts';
import { useRowFocus, useVisibleRange } from '../../ui/use-rows.ts';
import { useWindow } from '../../window-context.ts';
import { amountOf, type Labels, outcomeWords, whatOf, whoOf, whyOf } from './request-text.ts';
import { AXIS_TICKS_MS, axisPercent, elapsedOf, Waterfall } from './waterfall.tsx';

interface RequestListProps {
  readonly rows: readonly RequestRow[];
  readonly limit?: number;
  /** Identifies the list: a new name starts a new one. */
  readonly name?: string;
  /** True while something else holds the list still, such as open details. */
  readonly isHeld: boolean;
  readonly labels: Labels;
  readonly onSelect: (row: RequestRow) => void;
  readonly onEnd?: (() => void) | undefined;
}

const ROWS_AHEAD = 50;

/** Requests on a common time axis, newest first; holds still while it is used. */
export function RequestList(props: RequestListProps) {
  const { rows, limit = Infinity, name = '', isHeld, onSelect, onEnd } = props;
  const { data, now } = useWindow();
  // Keyed by content: every report is a new object, for which rows must not render again.
  const names = JSON.stringify([...props.labels]);
  const labels = useMemo(() => new Map(JSON.parse(names) as [string, string][]), [names]);
  const list = useRef<HTMLOListElement>(null);
  const isUsed = useInUse(list);
  const [releases, setReleases] = useState(0);
  const range = useVisibleRange(list);
  const isStill = isHeld || isUsed || range.top > 0;
  const { shown, waiting } = useHeldRows(rows, `${name} ${releases}`, isStill);
  const count = Math.min(shown.length, limit);
  const isNearEnd = range.last + ROWS_AHEAD >= count;
  useEffect(() => {
    if (isNearEnd) onEnd?.();
  }, [isNearEnd, onEnd]);
  // The row that Tab stops at: the last focused or opened one, otherwise the first.
  const [activeId, activate] = useState<string | null>(null);
  const at = shown.findIndex(({ id }) => id === activeId);
  const active = at < 0 || at >= count ? 0 : at;
  useRowFocus(list, { active, count, onMove: (index) => activate(shown[index]?.id ?? null) });
  const select = useCallback(
    (row: RequestRow) => {
      activate(row.id);
      onSelect(row);
    },
    [onSelect],
  );

  const show = () => {
    setReleases(releases + 1);
    activate(null);
    if (range.top > 0) list.current?.closest('.panel')?.scrollIntoView();
  };

  return (
    <div className="request-list">
      <div className="list-bar">
        <button type="button" className="button new-rows" hidden={waiting === 0} onClick={show}>
          {`${formatCount(waiting)} new · Show`}
        </button>
      </div>
      <TimeAxis
        longestMs={Math.max(0, ...shown.slice(0, count).map(({ endMs }) => endMs ?? Infinity))}
      />
      <ol ref={list} style={{ height: `calc(var(--row) * ${count})` }}>
        {shown.slice(0, count).map(
          (row, index) =>
            // The active row would otherwise lose the focus.
            ((index >= range.first && index < range.last) || index === active) && (
              <RequestLine
                key={row.id}
                {...{ row, index, count, labels }}
                isActive={index === active}
                elapsedMs={elapsedOf(row, now + data.skewMs)}
                onSelect={select}
              />
            ),
        )}
      </ol>
    </div>
  );
}

/** `rows` held as they were when `isHeld` became true; a new `key` starts a new list. */
function useHeldRows(rows: readonly RequestRow[], key: string, isHeld: boolean) {
  const [last, setLast] = useState({ key, shown: rows });
  const held = holdRows(isHeld && last.key === key ? last.shown : null, rows);
  if (last.key !== key || last.shown !== held.shown) setLast({ key, shown: held.shown });
  return held;
}

/** Up to the first mark that no request reaches. */
function TimeAxis({ longestMs }: { readonly longestMs: number }) {
  const end = AXIS_TICKS_MS.findIndex((ms) => ms > longestMs);
  const ticks = end < 0 ? AXIS_TICKS_MS : AXIS_TICKS_MS.slice(0, end + 1);
  return (
    <div className="axis" aria-hidden="true">
      {ticks.map((ms, index) => (
        <span key={ms} style={{ left: `${axisPercent(ms)}%` }}>
          <span className="axis-label">{['0', '1 s', '5 s', '30 s', '2 min'][index]}</span>
        </span>
      ))}
    </div>
  );
}

interface RequestLineProps {
  readonly row: RequestRow;
  readonly index: number;
  readonly count: number;
  readonly isActive: boolean;
  readonly labels: Labels;
  readonly elapsedMs: number;
  readonly onSelect: (row: RequestRow) => void;
}

/** One request; memoised, so that a finished one is rendered once. */
const RequestLine = memo(function RequestLine(props: RequestLineProps) {
  const { row, index, count, isActive, labels, elapsedMs, onSelect } = props;
  const { tone, word } = outcomeWords(row, elapsedMs);
  const why = whyOf(row, labels);
  const { model, app } = whatOf(row);
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
          <span className="request-name one-line">{whoOf(row, labels)}</span>
          {why !== null && (
            <span className="request-why quiet two-lines" title={why}>
              {why}
            </span>
          )}
        </span>
        <span className="request-what">
          <span className="one-line" title={model.replace(' → ', ', answered by ')}>
            {model}
          </span>
          {app !== null && <span className="request-app quiet one-line">{app}</span>}
        </span>
        <Waterfall row={row} elapsedMs={elapsedMs} />
        <span className="request-result">
          <span className="request-word">{word}</span>
          <span className="request-took">{formatDuration(elapsedMs)}</span>
          <span className="request-amount quiet">{amountOf(row)}</span>
        </span>
      </button>
    </li>
  );
});

/** The rows on the page with their newest data: none is removed or moved, and only older ones are added, at the end. */
export function holdRows(held: readonly RequestRow[] | null, rows: readonly RequestRow[]) {
  if (held === null) return { shown: rows, waiting: 0 };
  const current = new Map(rows.map((row) => [row.id, row]));
  const isSame = held.every((row) => (current.get(row.id) ?? row) === row);
  const same = isSame ? held : held.map((row) => current.get(row.id) ?? row);
  for (const { id } of held) current.delete(id);
  const others = [...current.values()];
  // Rows that start to match the filter within the list are not shown either.
  const newest = held[0]?.startedAt ?? -Infinity;
  const oldest = held.at(-1)?.startedAt ?? -Infinity;
  const older = others.filter(({ startedAt }) => startedAt < oldest);
  const waiting = others.filter(({ startedAt }) => startedAt >= newest).length;
  return { shown: older.length === 0 ? same : [...same, ...older], waiting };
}
