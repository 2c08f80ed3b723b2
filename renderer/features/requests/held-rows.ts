import type { RequestRow } from '#shared/live.ts';

interface HeldRows {
  readonly shown: readonly RequestRow[];
  /** New ones that are not shown yet. */
  readonly waiting: number;
}

/** The rows that stand on the page, brought up to date: none comes, goes or moves. */
export function holdRows(
  standing: readonly RequestRow[] | null,
  rows: readonly RequestRow[],
): HeldRows {
  if (standing === null) return { shown: rows, waiting: 0 };
  const current = new Map(rows.map((row) => [row.id, row]));
  const isSame = standing.every((row) => (current.get(row.id) ?? row) === row);
  const shown = isSame ? standing : standing.map((row) => current.get(row.id) ?? row);
  for (const { id } of standing) current.delete(id);
  // Older ones that come into the filter's reach belong below, where nobody waits for them.
  const newest = standing[0]?.startedAt ?? -Infinity;
  const waiting = [...current.values()].filter(({ startedAt }) => startedAt >= newest).length;
  return { shown, waiting };
}
