import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { LiveData } from '../../api/live-data.ts';
import type { Labels } from './attempt-names.ts';
import { elapsedOf } from './waterfall-model.ts';
import { RequestLine } from './request-row.tsx';
import { holdRows } from './held-rows.ts';
import { useInUse } from '../../ui/use-in-use.ts';
import { useRowFocus } from '../../ui/use-row-focus.ts';
import { useVisibleRange } from '../../ui/use-visible-range.ts';
import { t } from '../../text/t.ts';
import { AXIS_TICKS_MS, axisPercent } from './time-scale.ts';

interface RequestListProps {
  /** Newest first. */
  readonly rows: readonly RequestRow[];
  /** The most rows to show. */
  readonly limit?: number;
  /** Identifies the list: a new name starts a new one. */
  readonly name?: string;
  /** True while something else holds the list still, such as open details. */
  readonly isHeld: boolean;
  readonly data: Pick<LiveData, 'skewMs'>;
  readonly labels: Labels;
  readonly now: number;
  readonly onSelect: (row: RequestRow) => void;
  /** Called when the end of the list is near. */
  readonly onEnd?: (() => void) | undefined;
}

/** Distance from the end at which older rows are read. */
const ROWS_AHEAD = 50;

/** Requests on a common time axis, newest first; holds still while it is used. */
export function RequestList(props: RequestListProps) {
  const { rows, limit = Infinity, name = '', isHeld, data, now, onSelect, onEnd } = props;
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
  const { active, activate } = useActiveRow(list, shown, count);
  const select = useCallback(
    (row: RequestRow) => {
      activate(row.id);
      onSelect(row);
    },
    [activate, onSelect],
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
          {t.requests.newRows(waiting)}
        </button>
      </div>
      <TimeAxis />
      <ol ref={list} style={{ height: `calc(var(--row) * ${count})` }}>
        {drawnRows(shown, { ...range, active, count }).map(({ row, index }) => (
          <RequestLine
            key={row.id}
            {...{ row, index, count, labels }}
            isActive={index === active}
            elapsedMs={elapsedOf(row, now + data.skewMs)}
            onSelect={select}
          />
        ))}
      </ol>
    </div>
  );
}

/** `rows` held as they were when `isHeld` became true; a new `key` starts a new list. */
function useHeldRows(
  rows: readonly RequestRow[],
  key: string,
  isHeld: boolean,
): ReturnType<typeof holdRows> {
  const [last, setLast] = useState({ key, shown: rows });
  const held = holdRows(isHeld && last.key === key ? last.shown : null, rows);
  if (last.key !== key || last.shown !== held.shown) setLast({ key, shown: held.shown });
  return held;
}

/** The row that Tab stops at: the last focused or opened one, otherwise the first. */
function useActiveRow(
  list: Parameters<typeof useRowFocus>[0],
  rows: readonly RequestRow[],
  count: number,
) {
  const [activeId, activate] = useState<string | null>(null);
  const at = rows.findIndex(({ id }) => id === activeId);
  const active = at < 0 || at >= count ? 0 : at;
  useRowFocus(list, { active, count, onMove: (index) => activate(rows[index]?.id ?? null) });
  return { active, activate };
}

interface Drawn {
  readonly first: number;
  readonly last: number;
  readonly active: number;
  readonly count: number;
}

/** The rows to render: the visible ones and the active one, which would otherwise lose the focus. */
function drawnRows(rows: readonly RequestRow[], { first, last, active, count }: Drawn) {
  return rows
    .slice(0, count)
    .map((row, index) => ({ row, index }))
    .filter(({ index }) => (index >= first && index < last) || index === active);
}

/** Marks of the common time axis, drawn once behind all rows. */
function TimeAxis() {
  return (
    <div className="axis" aria-hidden="true">
      {AXIS_TICKS_MS.map((ms, index) => (
        <span key={ms} style={{ left: `${axisPercent(ms)}%` }}>
          <span className="axis-label">{t.requests.axis.ticks[index]}</span>
        </span>
      ))}
      <span className="axis-scale">
        <span className="axis-label">{t.requests.axis.logarithmic}</span>
      </span>
    </div>
  );
}
