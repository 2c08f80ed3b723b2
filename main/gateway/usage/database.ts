import type { Database } from 'better-sqlite3';
import { isUpstreamId } from '#shared/ids.ts';
import type { RequestRow } from '#shared/live.ts';
import { KEPT_PER_OUTCOME, type RequestQuery } from '#shared/request-filter.ts';
import { requestRowSchema } from '#shared/request-row.ts';
import { FIGURE_NAMES, type HistoryPoint, type Reread, type UsageFigures } from '#shared/usage.ts';
import { dayOf } from '../../platform/clock.ts';
import { parseJson } from '../../platform/json.ts';
import {
  DAY_MS,
  type DaySum,
  HOUR_MS,
  type HistoryQuery,
  MAX_FIGURE,
  MAX_ROWS_KEPT,
  NO_USAGE,
  pageOf,
  REQUESTED_DAYS,
  type RequestedModel,
  type StoredRow,
  type UsageBefore,
  type UsagePlace,
  type UsageSpan,
  type UsageWrite,
} from './queries.ts';

/* What the history does in the database thread. */

export const USAGE_TABLES = `
   CREATE TABLE usage (
     span TEXT NOT NULL,
     at INTEGER NOT NULL,
     upstream TEXT NOT NULL,
     provider TEXT NOT NULL,
     model TEXT NOT NULL,
     key TEXT NOT NULL,
     calls INTEGER NOT NULL,
     fallbacks INTEGER NOT NULL,
     failures INTEGER NOT NULL,
     inputTokens INTEGER NOT NULL,
     outputTokens INTEGER NOT NULL,
     cachedTokens INTEGER NOT NULL,
     estimatedTokens INTEGER NOT NULL,
     firstTokenMs INTEGER NOT NULL,
     firstTokens INTEGER NOT NULL,
     outputMs INTEGER NOT NULL,
     timedTokens INTEGER NOT NULL,
     spentNano INTEGER NOT NULL,
     savedNano INTEGER NOT NULL,
     energyMj INTEGER NOT NULL,
     energyNano INTEGER NOT NULL,
     PRIMARY KEY (span, at, upstream, provider, model, key)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE requests (
     id INTEGER PRIMARY KEY,
     pot TEXT NOT NULL,
     json TEXT NOT NULL
   ) STRICT;
   CREATE INDEX requests_by_end ON requests (pot, id);
   CREATE TABLE requested_models (
     day INTEGER NOT NULL,
     name TEXT NOT NULL,
     upstream TEXT NOT NULL,
     provider TEXT NOT NULL,
     model TEXT NOT NULL,
     calls INTEGER NOT NULL,
     lastAt INTEGER NOT NULL,
     PRIMARY KEY (day, name, upstream, provider, model)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE rereads (
     day INTEGER NOT NULL,
     why TEXT NOT NULL,
     turns INTEGER NOT NULL,
     tokens INTEGER NOT NULL,
     PRIMARY KEY (day, why)
   ) STRICT, WITHOUT ROWID;`;

/** How long rows of each span are kept. */
const KEPT_MS: Readonly<Record<UsageSpan, number>> = {
  minute: 2 * DAY_MS,
  hour: 35 * DAY_MS,
  day: 731 * DAY_MS,
};

/** Limit per span, about 30 MB; beyond it, the oldest rows are deleted. A household has a few thousand. */
const MAX_ROWS = 200_000;

const MAX_PARTS = 200;

/** Two months. */
const MAX_DAYS_BEFORE = 62;

const COLUMNS = FIGURE_NAMES.join(', ');
const SUMS = FIGURE_NAMES.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ');
/** What a clock that was ahead has stored is no part of the past. */
const WITHIN = 'span = @span AND at BETWEEN @from AND @to';
const VALUES = FIGURE_NAMES.map((name) => `@${name}`).join(', ');
/** A sum beyond what a column can hold could not be written, and would keep all others from it. */
const ADDED = FIGURE_NAMES.map(
  (name) => `${name} = min(${name} + excluded.${name}, ${MAX_FIGURE})`,
).join(', ');

function requestQueries(db: Database) {
  const add = db.prepare('INSERT INTO requests (pot, json) VALUES (?, ?)');
  const drop = db.prepare(
    `DELETE FROM requests WHERE pot = ? AND id <=
       (SELECT id FROM requests WHERE pot = ? ORDER BY id DESC LIMIT 1 OFFSET ${KEPT_PER_OUTCOME})`,
  );
  const rows = db
    .prepare<[number], string>('SELECT json FROM requests ORDER BY id DESC LIMIT ?')
    .pluck();
  const row = db
    .prepare<[string], string>(
      `SELECT json FROM requests WHERE iif(json_valid(json), json ->> 'id', '') = ?`,
    )
    .pluck();
  return {
    add(ended: readonly StoredRow[]) {
      for (const { pot, json } of ended) add.run(pot, json);
      for (const pot of new Set(ended.map((each) => each.pot))) drop.run(pot, pot);
    },
    rows: (limit: number) => rowsIn(rows.all(limit)),
    /** Null if it is not stored. */
    row: (id: string) => rowsIn(row.all(id))[0] ?? null,
  };
}

/** A file is untrusted input: what cannot be read is left out. */
const rowsIn = (texts: readonly string[]): readonly RequestRow[] =>
  texts.flatMap((text) => requestRowSchema.safeParse(parseJson(text)).data ?? []);

/** More names than that are no help on a page. */
const MAX_NAMES = 200;
/** Some 5 MB. An app that makes up names fills it in a day, and then the oldest days go. */
const MAX_REQUESTED = 50_000;

export function requestedModelQueries(db: Database) {
  const add = db.prepare(
    `INSERT INTO requested_models (day, name, upstream, provider, model, calls, lastAt)
     VALUES (@day, @name, @upstream, @provider, @model, @calls, @lastAt)
     ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, lastAt = max(lastAt, excluded.lastAt)`,
  );
  const all = db.prepare<object, RequestedModel>(
    `WITH frequent AS (
       SELECT name FROM requested_models WHERE day BETWEEN @from AND @to GROUP BY 1
       ORDER BY sum(calls) DESC, 1 LIMIT ${MAX_NAMES})
     SELECT name, upstream, provider, model, sum(calls) AS calls, max(lastAt) AS lastAt
     FROM requested_models WHERE day BETWEEN @from AND @to AND name IN (SELECT name FROM frequent)
     GROUP BY 1, 2, 3, 4 ORDER BY sum(calls) DESC, 1`,
  );
  const dropOld = db.prepare('DELETE FROM requested_models WHERE day < ?');
  const dropMany = db.prepare(
    `DELETE FROM requested_models WHERE day <= (SELECT day FROM requested_models ORDER BY day DESC LIMIT 1 OFFSET ${MAX_REQUESTED})`,
  );
  const fromOf = (nowMs: number) => dayOf(nowMs, 1 - REQUESTED_DAYS);
  return {
    add(requested: RequestedModel): void {
      add.run({ ...requested, day: dayOf(requested.lastAt) });
    },
    /** The most frequent first. */
    all: (nowMs: number) => all.all({ from: fromOf(nowMs), to: nowMs }),
    prune(nowMs: number): void {
      dropOld.run(fromOf(nowMs));
      dropMany.run();
    },
  };
}

function rereadQueries(db: Database) {
  const add = db.prepare(
    `INSERT INTO rereads (day, why, turns, tokens) VALUES (@day, @why, @turns, @tokens)
     ON CONFLICT DO UPDATE SET turns = turns + excluded.turns, tokens = tokens + excluded.tokens`,
  );
  const all = db.prepare<[number], Reread>(
    'SELECT why, turns, tokens FROM rereads WHERE day = ? ORDER BY tokens DESC, why',
  );
  const dropOld = db.prepare('DELETE FROM rereads WHERE day < ?');
  return {
    add(day: number, reread: Reread): void {
      add.run({ day, ...reread });
      // Only today's are shown.
      dropOld.run(day);
    },
    all: (day: number): readonly Reread[] => all.all(day),
  };
}

export type UsageOperations = ReturnType<typeof usageOperations>;

export type StoredHistory = ReturnType<UsageOperations['reads']['history']>;

/** Rows of the live feed after a start. */
const ROWS_AT_START = 100;

export function usageOperations(db: Database) {
  const add = db.prepare(
    `INSERT INTO usage (span, at, upstream, provider, model, key, ${COLUMNS})
     VALUES (@span, @at, @upstream, @provider, @model, @key, ${VALUES})
     ON CONFLICT DO UPDATE SET ${ADDED}`,
  );
  const requests = requestQueries(db);
  const requested = requestedModelQueries(db);
  const rereads = rereadQueries(db);
  const points = db.prepare<object, PlaceRow<'at' | 'upstream'>>(
    `SELECT at - (at - @from) % @groupMs AS at, upstream, ${SUMS} FROM usage
     WHERE ${WITHIN} AND key = '' GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  const parts = db.prepare<object, PlaceRow<'upstream' | 'provider' | 'model'>>(
    `SELECT upstream, provider, model, ${SUMS} FROM usage
     WHERE ${WITHIN} AND upstream <> '' GROUP BY 1, 2, 3
     ORDER BY sum(inputTokens + outputTokens) DESC, sum(calls) DESC LIMIT ${MAX_PARTS}`,
  );
  const keys = db.prepare<object, PlaceRow<'key'>>(
    `SELECT key, ${SUMS} FROM usage
     WHERE ${WITHIN} AND key <> '' GROUP BY 1
     ORDER BY sum(inputTokens + outputTokens) DESC, sum(calls) DESC LIMIT ${MAX_PARTS}`,
  );
  const since = db.prepare<object, UsageFigures>(
    `SELECT ${SUMS} FROM usage
     WHERE span = 'day' AND at BETWEEN @from AND @to AND upstream = '' AND key = ''`,
  );
  // The sums go by what is stored, and not by the clock, which may be wrong at the start.
  const sumsOfDays = (name: 'upstream' | 'key', sum: string) =>
    db.prepare<[], DaySum>(
      `SELECT ${name} AS name, at AS day, sum(${sum}) AS sum FROM usage
       WHERE span = 'day' AND ${name} <> '' AND at IN
         (SELECT DISTINCT at FROM usage WHERE span = 'day' ORDER BY at DESC LIMIT ${MAX_DAYS_BEFORE})
       GROUP BY 1, 2 ORDER BY 2`,
    );
  const spent = sumsOfDays('upstream', 'spentNano');
  const keyRequests = sumsOfDays('key', 'calls');
  const keyTokens = sumsOfDays('key', 'inputTokens + outputTokens');
  const move = db.prepare('UPDATE usage SET upstream = ? WHERE upstream = ?');
  const dropOld = db.prepare('DELETE FROM usage WHERE span = ? AND at < ?');
  const dropMany = db.prepare(
    `DELETE FROM usage WHERE span = @span AND at <=
       (SELECT at FROM usage WHERE span = @span ORDER BY at DESC LIMIT 1 OFFSET ${MAX_ROWS})`,
  );

  const dayBefore = db
    .prepare<[], number>(
      "SELECT DISTINCT at FROM usage WHERE span = 'day' ORDER BY at DESC LIMIT 1 OFFSET 1",
    )
    .pluck();

  let prunedAt = 0;

  /** Deletes rows that are too old, and the oldest beyond the limits. */
  function prune(nowMs: number): void {
    // The clock may have been set back.
    if (Math.abs(nowMs - prunedAt) < HOUR_MS) return;
    prunedAt = nowMs;
    // A clock that is far ahead would delete everything, so the last day stored must have one shortly before it.
    const believedMs = Math.min(nowMs, (dayBefore.get() ?? 0) + 2 * DAY_MS);
    for (const [span, keptMs] of Object.entries(KEPT_MS)) {
      dropOld.run(span, believedMs - keptMs);
      dropMany.run({ span });
    }
    requested.prune(believedMs);
  }

  return {
    reads: {
      history: ({ span, from, to, groupMs, dayFrom, monthFrom }: HistoryQuery) => ({
        points: pointsOf(points.all({ span, from, to, groupMs })),
        parts: parts
          .all({ span, from, to })
          .flatMap(({ upstream, provider, model, ...figures }) =>
            isUpstreamId(upstream)
              ? [{ upstream, provider: provider || null, model: model || null, figures }]
              : [],
          ),
        keys: keys.all({ span, from, to }).map(({ key, ...figures }) => ({ key, figures })),
        rereads: rereads.all(dayFrom),
        today: since.get({ from: dayFrom, to }) ?? NO_USAGE,
        thisMonth: since.get({ from: monthFrom, to }) ?? NO_USAGE,
      }),
      requests: (wanted: RequestQuery) => pageOf(requests.rows(MAX_ROWS_KEPT), wanted),
      request: requests.row,
      /** What apps asked for in the 30 days before a time. */
      requestedModels: requested.all,
      /** What the start needs of an earlier run: the newest requests, newest first, and the sums of its last days. */
      earlier: (): { readonly rows: readonly RequestRow[]; readonly before: UsageBefore } => ({
        rows: requests.rows(ROWS_AT_START),
        before: { spent: spent.all(), keyRequests: keyRequests.all(), keyTokens: keyTokens.all() },
      }),
    },
    writes: {
      /** Two upstreams have changed places. A row has its place as its key, so that of the first is left for a moment. */
      swap([one, other]: readonly [string, string]): void {
        move.run('-', one);
        move.run(one, other);
        move.run(other, '-');
      },
      add({ increments, rows, nowMs }: UsageWrite): void {
        for (const { place, figures } of increments) {
          const { at } = place;
          const spans = { minute: at, hour: at - (at % HOUR_MS), day: dayOf(at) };
          for (const [span, start] of Object.entries(spans))
            add.run({ ...place, ...figures, span, at: start });
        }
        requests.add(rows);
        for (const row of rows) {
          if (row.requested !== null) requested.add(row.requested);
          for (const each of row.rereads) rereads.add(dayOf(nowMs), each);
        }
        prune(nowMs);
      },
    },
  };
}

/** For each step, the figures of requests and, by upstream, of calls. */
function pointsOf(rows: readonly PlaceRow<'at' | 'upstream'>[]): readonly HistoryPoint[] {
  const stored = rows.map(({ at, upstream, ...figures }) => ({ at, upstream, figures }));
  return [...Map.groupBy(stored, ({ at }) => at)].map(([at, all]) => {
    const byUpstream = Object.fromEntries(all.map((each) => [each.upstream, each.figures]));
    const { '': figures = NO_USAGE, ...upstreams } = byUpstream;
    return { at, figures, upstreams };
  });
}

/** Figures with the columns that identify what they belong to. */
type PlaceRow<Column extends keyof UsagePlace> = Pick<UsagePlace, Column> & UsageFigures;
