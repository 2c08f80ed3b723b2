import { memo, useEffect, useMemo, useRef, useState } from 'react';
import { hashOf } from '../../route.ts';
import type { ColumnText } from '../../text/en/providers.tsx';
import * as t from '../../text/t.ts';
import { useRowFocus, useVisibleRange } from '../../ui/use-rows.ts';
import { useServerNow } from '../../window-context.ts';
import { chipText } from './provider-facts.ts';
import { COLUMN_IDS, type ColumnId, COLUMNS, linesOf, type ListLine } from './provider-listing.ts';
import { ProviderMark } from './provider-mark.tsx';
import { isRechecked, type ProviderEntry, providerWords } from './provider-standing.ts';

interface ProviderListProps {
  readonly entries: readonly ProviderEntry[];
  readonly sort: ColumnId;
  readonly opened: string | null;
}

const words = t.providers;

/** The sorted machines; only visible rows are rendered, so that ten thousand can scroll. */
export function ProviderList({ entries, sort, opened }: ProviderListProps) {
  const serverNow = useServerNow();
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
      <div className="provider-columns quiet" aria-hidden="true">
        {COLUMN_IDS.map((id) => (
          <span key={id} data-column={id}>
            {words.columns[id].title}
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

const indexOf = (lines: readonly ListLine[], id: string | null): number =>
  lines.findIndex((line) => line.kind === 'machine' && line.entry.provider.id === id);

/** The machine that gets the focus; a group's head, which cannot have it, is stepped over. */
function idAt(lines: readonly ListLine[], index: number, from: number): string | null {
  const step = index < from ? -1 : 1;
  const line = lines[index]?.kind === 'group' ? (lines[index + step] ?? lines[from]) : lines[index];
  return line?.kind === 'machine' ? line.entry.provider.id : null;
}

function useReturn(list: { readonly current: HTMLElement | null }, opened: string | null): void {
  const from = useRef(opened);
  useEffect(() => {
    if (from.current === null) return;
    list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(from.current)}"]`)?.focus();
  }, [list]);
}

interface ProviderRowProps {
  readonly entry: ProviderEntry;
  readonly index: number;
  readonly serverNow: number;
}

/** The columns that contain only a figure. */
const FIGURE_COLUMNS = COLUMN_IDS.slice(COLUMN_IDS.indexOf('load'));

const ProviderRow = memo(function ProviderRow({ entry, index, serverNow }: ProviderRowProps) {
  const { provider, standing, name, note, isHere } = entry;
  const { tone, word, means, what } = providerWords(standing, serverNow);
  return (
    <div className="provider" data-tone={tone}>
      <ProviderMark kind={standing.kind} />
      <a
        className="provider-name one-line"
        data-index={index}
        data-id={provider.id}
        href={hashOf({ page: 'provider', id: provider.id })}
      >
        {name}
      </a>
      <span className="provider-word" title={means}>
        {word}
      </span>
      <span className="provider-model one-line" title={provider.models.join('\n')}>
        {COLUMNS.model.value(entry, serverNow)}
      </span>
      <span className="provider-figures">
        {FIGURE_COLUMNS.map((id) => {
          const { aloud, before, after }: ColumnText = words.columns[id];
          return (
            <span key={id} className="provider-figure" data-column={id}>
              {aloud !== undefined && <span className="unseen">{aloud}</span>}
              {before !== undefined && <span className="provider-unit">{before}</span>}
              {COLUMNS[id].value(entry, serverNow)}
              {after !== undefined && <span className="provider-unit">{after}</span>}
            </span>
          );
        })}
      </span>
      <span
        className="provider-chip quiet one-line"
        title={note === '' ? (provider.chip ?? undefined) : note}
      >
        {isHere && <strong>{words.here} · </strong>}
        {note === '' ? chipText(provider) : `${chipText(provider)} · ${note}`}
      </span>
      <span className="provider-what quiet one-line" title={what ?? undefined}>
        {what}
        {isRechecked(provider, standing) && <em>{words.rechecked}</em>}
      </span>
    </div>
  );
});
