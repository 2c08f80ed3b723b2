import type { Database } from 'better-sqlite3';
import { FIGURE_NAMES, type UsageFigures } from '#shared/usage.ts';
import { dayOf } from '../../platform/dates.ts';
import type { HistoryQuery, HistoryRows, UsageSpan, UsageWrite } from './messages.ts';
import type { SpentRow } from './budgets.ts';
import { HOUR_MS } from './spans.ts';

export interface UsageQueries {
  write(write: UsageWrite): void;
  history(query: HistoryQuery): HistoryRows;
  /** Newest first, as JSON. */
  rows(limit: number): readonly string[];
  /** As JSON; null where it is not kept. */
  row(id: string): string | null;
  /** What upstreams have cost since these times. */
  spent(dayFrom: number, monthFrom: number): readonly SpentRow[];
  /** Deletes what is too old or too much. */
  prune(nowMs: number): void;
}

const DAY_MS = 24 * HOUR_MS;

/** How long spans are kept. */
const KEPT_MS: Readonly<Record<UsageSpan, number>> = {
  minute: 2 * DAY_MS,
  hour: 35 * DAY_MS,
  day: 731 * DAY_MS,
};

/** Of each span, about 30 MB: beyond it the oldest go first. One in a household has some thousand. */
const MAX_ROWS = 200_000;

/** Of those that were answered, and of all others. */
export const MAX_REQUESTS = 1000;

const MAX_PARTS = 200;

const COLUMNS = FIGURE_NAMES.join(', ');
const SUMS = FIGURE_NAMES.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ');
const VALUES = FIGURE_NAMES.map((name) => `@${name}`).join(', ');
const ADDED = FIGURE_NAMES.map((name) => `${name} = ${name} + excluded.${name}`).join(', ');

export function createUsageQueries(db: Database): UsageQueries {
  const add = db.prepare(
    `INSERT INTO usage (span, at, upstream, provider, model, key, ${COLUMNS})
     VALUES (@span, @at, @upstream, @provider, @model, @key, ${VALUES})
     ON CONFLICT DO UPDATE SET ${ADDED}`,
  );
  const addRow = db.prepare('INSERT INTO requests (done, json) VALUES (?, ?)');
  const dropRows = db.prepare(
    `DELETE FROM requests WHERE done = ? AND id <=
       (SELECT id FROM requests WHERE done = ? ORDER BY id DESC LIMIT 1 OFFSET ${MAX_REQUESTS})`,
  );
  const rows = db.prepare('SELECT json FROM requests ORDER BY id DESC LIMIT ?').pluck();
  const rowById = db
    .prepare(`SELECT json FROM requests WHERE iif(json_valid(json), json ->> 'id', '') = ?`)
    .pluck();
  const points = db.prepare(
    `SELECT at - (at - @from) % @groupMs AS at, upstream, ${SUMS} FROM usage
     WHERE span = @span AND at >= @from AND key = '' GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  const parts = db.prepare(
    `SELECT upstream, provider, model, ${SUMS} FROM usage
     WHERE span = @span AND at >= @from AND upstream <> '' GROUP BY 1, 2, 3
     ORDER BY sum(inputTokens + outputTokens) DESC, sum(calls) DESC LIMIT ${MAX_PARTS}`,
  );
  const keys = db.prepare(
    `SELECT key, ${SUMS} FROM usage
     WHERE span = @span AND at >= @from AND key <> '' GROUP BY 1
     ORDER BY sum(inputTokens + outputTokens) DESC, sum(calls) DESC LIMIT ${MAX_PARTS}`,
  );
  const since = db.prepare(
    `SELECT ${SUMS} FROM usage WHERE span = 'day' AND at >= ? AND upstream = '' AND key = ''`,
  );
  const spent = db.prepare(
    `SELECT upstream, sum(CASE WHEN at >= ? THEN spentNano ELSE 0 END) AS dayNano,
       sum(spentNano) AS monthNano FROM usage
     WHERE span = 'day' AND at >= ? AND upstream <> '' GROUP BY 1`,
  );
  const dropOld = db.prepare('DELETE FROM usage WHERE span = ? AND at < ?');
  const dropMany = db.prepare(
    `DELETE FROM usage WHERE span = @span AND at <=
       (SELECT at FROM usage WHERE span = @span ORDER BY at DESC LIMIT 1 OFFSET ${MAX_ROWS})`,
  );

  const write = db.transaction(({ increments, rows: ended }: UsageWrite) => {
    for (const { place, figures } of increments) {
      const { at } = place;
      const spans = { minute: at, hour: at - (at % HOUR_MS), day: dayOf(at) };
      for (const [span, start] of Object.entries(spans))
        add.run({ ...place, ...figures, span, at: start });
    }
    for (const row of ended) addRow.run(row.state === 'done' ? 1 : 0, JSON.stringify(row));
    for (const done of ended.length === 0 ? [] : [0, 1]) dropRows.run(done, done);
  });

  const prune = db.transaction((nowMs: number) => {
    for (const [span, keptMs] of Object.entries(KEPT_MS)) {
      dropOld.run(span, nowMs - keptMs);
      dropMany.run({ span });
    }
  });

  return {
    write: (each) => write.immediate(each),
    history: ({ span, from, groupMs, dayFrom, monthFrom }) => ({
      points: points.all({ span, from, groupMs }).map((row) => ({
        ...(row as { readonly at: number; readonly upstream: string }),
        figures: figuresOf(row),
      })),
      parts: parts.all({ span, from }).map((row) => ({
        ...(row as {
          readonly upstream: string;
          readonly provider: string;
          readonly model: string;
        }),
        figures: figuresOf(row),
      })),
      keys: keys.all({ span, from }).map((row) => ({
        ...(row as { readonly key: string }),
        figures: figuresOf(row),
      })),
      today: figuresOf(since.get(dayFrom)),
      thisMonth: figuresOf(since.get(monthFrom)),
    }),
    rows: (limit) => rows.all(limit) as string[],
    row: (id) => (rowById.get(id) as string | undefined) ?? null,
    spent: (dayFrom, monthFrom) => spent.all(dayFrom, monthFrom) as SpentRow[],
    prune: (nowMs) => prune.immediate(nowMs),
  };
}

function figuresOf(row: unknown): UsageFigures {
  const columns = row as UsageFigures;
  // Every name of the list becomes a key, which fromEntries cannot tell the compiler.
  return Object.fromEntries(
    FIGURE_NAMES.map((name) => [name, columns[name]]),
  ) as unknown as UsageFigures;
}
