import type { RequestRow } from '#shared/live.ts';

interface HeldRows {
  readonly shown: readonly RequestRow[];
  /** Number of new rows that are not shown yet. */
  readonly waiting: number;
}

/** The rows on the page with their newest data: none is removed or moved, and only older ones are added, at the end. */
export function holdRows(
  held: readonly RequestRow[] | null,
  rows: readonly RequestRow[],
): HeldRows {
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
