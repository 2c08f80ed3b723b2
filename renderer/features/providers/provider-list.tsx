import { useEffect, useMemo, useRef, useState } from 'react';
import { t } from '../../text/t.ts';
import { useRowFocus } from '../../ui/use-row-focus.ts';
import { useVisibleRange } from '../../ui/use-visible-range.ts';
import { COLUMN_IDS, type ColumnId, columnOf } from './provider-columns.ts';
import { linesOf, type ListLine } from './provider-listing.ts';
import type { ProviderEntry } from './provider-standing.ts';
import { ProviderRow } from './provider-row.tsx';

interface ProviderListProps {
  readonly entries: readonly ProviderEntry[];
  readonly sort: ColumnId;
  readonly serverNow: number;
  /** The machine whose page was open before. */
  readonly opened: string | null;
}

const words = t.providers;

/** The sorted machines; only visible rows are rendered, so that ten thousand can scroll. */
export function ProviderList({ entries, sort, serverNow, opened }: ProviderListProps) {
  const lines = useMemo(() => linesOf(entries, sort), [entries, sort]);
  const heads = useMemo(
    () => lines.flatMap(({ kind }, index) => (kind === 'group' ? [index] : [])),
    [lines],
  );
  const list = useRef<HTMLOListElement>(null);
  const { first, last } = useVisibleRange(list);
  const [activeId, activate] = useState(opened);
  const known = indexOf(lines, activeId);
  const active = known < 0 && lines[0]?.kind === 'group' ? 1 : Math.max(0, known);
  useRowFocus(list, {
    active,
    count: lines.length,
    onMove: (index) => activate(idAt(lines, index, active)),
  });
  useReturn(list, opened);
  return (
    <div className="provider-list">
      <div className="provider-columns" aria-hidden="true">
        {COLUMN_IDS.map((id) => (
          <span key={id} data-column={id}>
            {columnOf(id).title}
          </span>
        ))}
      </div>
      <ol ref={list} style={{ height: placeOf(lines.length, heads) }}>
        {lines
          .map((line, index) => ({ line, index }))
          .filter(({ index }) => (index >= first && index < last) || index === active)
          .map(({ line, index }) => (
            <li
              key={line.kind === 'group' ? line.group : line.entry.provider.id}
              aria-setsize={lines.length}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${placeOf(index, heads)})` }}
            >
              {line.kind === 'group' ? (
                <h2>{words.groups[line.group]}</h2>
              ) : (
                <ProviderRow entry={line.entry} {...{ index, serverNow }} />
              )}
            </li>
          ))}
      </ol>
    </div>
  );
}

/** The position of a line; a group's head may be less tall than a row, by `--lift`. */
function placeOf(index: number, heads: readonly number[]): string {
  const before = heads.filter((head) => head < index).length;
  return `calc(var(--row) * ${index} - var(--lift) * ${before})`;
}

function indexOf(lines: readonly ListLine[], id: string | null): number {
  return lines.findIndex((line) => line.kind === 'machine' && line.entry.provider.id === id);
}

/** The machine that gets the focus: beyond a group's head, which cannot have it. */
function idAt(lines: readonly ListLine[], index: number, from: number): string | null {
  const step = index < from ? -1 : 1;
  const line = lines[index]?.kind === 'group' ? (lines[index + step] ?? lines[from]) : lines[index];
  return line?.kind === 'machine' ? line.entry.provider.id : null;
}

/** Returns the focus to the row of the machine whose page was open. */
function useReturn(list: { readonly current: HTMLElement | null }, opened: string | null): void {
  const from = useRef(opened);
  useEffect(() => {
    if (from.current === null) return;
    list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(from.current)}"]`)?.focus();
  }, [list]);
}
