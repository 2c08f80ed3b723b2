import type { RequestRow } from '#shared/live.ts';

interface HeldRows {
  readonly shown: readonly RequestRow[];
  /** New ones that are not shown yet. */
  readonly waiting: number;
}

/** The rows that stand on the page, brought up to date: none goes or moves, and older ones come behind them only. */
export function holdRows(
  standing: readonly RequestRow[] | null,
  rows: readonly RequestRow[],
): HeldRows {
  if (standing === null) return { shown: rows, waiting: 0 };
  const current = new Map(rows.map((row) => [row.id, row]));
  const isSame = standing.every((row) => (current.get(row.id) ?? row) === row);
  const same = isSame ? standing : standing.map((row) => current.get(row.id) ?? row);
  for (const { id } of standing) current.delete(id);
  const others = [...current.values()];
  // What comes into the filter's reach in between waits unseen.
  const newest = standing[0]?.startedAt ?? -Infinity;
  const oldest = standing.at(-1)?.startedAt ?? -Infinity;
  const older = others.filter(({ startedAt }) => startedAt < oldest);
  const waiting = others.filter(({ startedAt }) => startedAt >= newest).length;
  return { shown: older.length === 0 ? same : [...same, ...older], waiting };
}
