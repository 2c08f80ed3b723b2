import type { Database } from 'better-sqlite3';
import {
  type AttemptRow,
  type Outcome,
  outcomeOf,
  OUTCOMES,
  type RequestRow,
} from '#shared/live.ts';
import { machinesIn } from '#shared/machine-names.ts';
import {
  countsOf,
  FACETS,
  facetsOf,
  KEPT_PER_OUTCOME,
  matchesFilter,
  type RequestPage,
  type RequestsWanted,
} from '#shared/request-filter.ts';
import { FIGURE_NAMES, type HistoryRange, type UsageFigures } from '#shared/usage.ts';
import { dayOf, monthOf } from '../../platform/dates.ts';
import { type AskedAt, askedQueries } from './asked.ts';
import { type Increment, MAX_FIGURE, NO_USAGE, type UsagePlace } from './tally.ts';

export type UsageQueries = ReturnType<typeof createUsageQueries>;

/** One transaction: all of it is stored or nothing. It is sent again only after a failure, so nothing is counted twice. */
export interface UsageWrite {
  readonly nowMs: number;
  readonly increments: readonly Increment[];
  /** The newest requests that have ended, oldest first. */
  readonly rows: readonly StoredRow[];
  readonly asked: readonly AskedAt[];
}

/** A request as it is stored. Made before it is sent: cloning the row takes longer than writing it as text. */
interface StoredRow {
  readonly pot: Pot;
  readonly json: string;
}

export const storedRow = (row: RequestRow): StoredRow => ({
  pot: potOf(row),
  json: JSON.stringify({ ...row, attempts: row.attempts.map(withoutWords) }),
});

/** An upstream's words, behind the status, may repeat a prompt in any spelling; they are shown from memory only. */
const withoutWords = (attempt: AttemptRow): AttemptRow => ({
  ...attempt,
  error: attempt.error?.split(': ', 1)[0] ?? null,
});

type UsageSpan = 'minute' | 'hour' | 'day';

export interface HistoryQuery {
  readonly span: UsageSpan;
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  /** Rows are summed over steps of this length; not days, which may have 23 or 25 hours. */
  readonly groupMs: number;
  readonly dayFrom: number;
  readonly monthFrom: number;
}

export type HistoryRows = ReturnType<UsageQueries['history']>;

/** A sum over one day. */
export interface DaySum {
  readonly name: string;
  /** When it began, in wall-clock milliseconds. */
  readonly day: number;
  readonly sum: number;
}

/** The sums of the last two months at the start, the oldest first. */
export interface UsageBefore {
  /** Money, in billionths, by upstream. */
  readonly spent: readonly DaySum[];
  /** By key. */
  readonly keyRequests: readonly DaySum[];
  readonly keyTokens: readonly DaySum[];
}

export const NOTHING_BEFORE: UsageBefore = { spent: [], keyRequests: [], keyTokens: [] };

export const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long rows of each span are kept. */
const KEPT_MS: Readonly<Record<UsageSpan, number>> = {
  minute: 2 * DAY_MS,
  hour: 35 * DAY_MS,
  day: 731 * DAY_MS,
};

/** Limit per span, about 30 MB; beyond it, the oldest rows are deleted. A household has a few thousand. */
const MAX_ROWS = 200_000;

/** What has places of its own, so that ordinary requests push out no fallback and no failure. */
type Pot = Outcome | 'cancelled';

export const potOf = (row: RequestRow): Pot => outcomeOf(row) ?? 'cancelled';

/** Of all pots together. */
export const MAX_ROWS_KEPT = KEPT_PER_OUTCOME * (OUTCOMES.length + 1);

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
    add(ended: UsageWrite['rows']) {
      for (const { pot, json } of ended) add.run(pot, json);
      for (const pot of new Set(ended.map((each) => each.pot))) drop.run(pot, pot);
    },
    rows: (limit: number) => rows.all(limit),
    row: (id: string) => row.get(id) ?? null,
  };
}

export function createUsageQueries(db: Database) {
  const add = db.prepare(
    `INSERT INTO usage (span, at, upstream, provider, model, key, ${COLUMNS})
     VALUES (@span, @at, @upstream, @provider, @model, @key, ${VALUES})
     ON CONFLICT DO UPDATE SET ${ADDED}`,
  );
  const requests = requestQueries(db);
  const asked = askedQueries(db);
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
  // By what is stored and not by the clock, which may be wrong at the start.
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
  const dropOld = db.prepare('DELETE FROM usage WHERE span = ? AND at < ?');
  const dropMany = db.prepare(
    `DELETE FROM usage WHERE span = @span AND at <=
       (SELECT at FROM usage WHERE span = @span ORDER BY at DESC LIMIT 1 OFFSET ${MAX_ROWS})`,
  );

  const write = db.transaction(({ increments, rows: ended, asked: names }: UsageWrite) => {
    for (const { place, figures } of increments) {
      const { at } = place;
      const spans = { minute: at, hour: at - (at % HOUR_MS), day: dayOf(at) };
      for (const [span, start] of Object.entries(spans))
        add.run({ ...place, ...figures, span, at: start });
    }
    requests.add(ended);
    asked.add(names);
  });

  const dayBefore = db
    .prepare<[], number>(
      "SELECT DISTINCT at FROM usage WHERE span = 'day' ORDER BY at DESC LIMIT 1 OFFSET 1",
    )
    .pluck();

  const prune = db.transaction((nowMs: number) => {
    // A clock that is far ahead would delete everything, so the last day stored must have one shortly before it.
    const believedMs = Math.min(nowMs, (dayBefore.get() ?? 0) + 2 * DAY_MS);
    for (const [span, keptMs] of Object.entries(KEPT_MS)) {
      dropOld.run(span, believedMs - keptMs);
      dropMany.run({ span });
    }
    asked.prune(believedMs);
  });

  return {
    write: (each: UsageWrite) => write.immediate(each),
    history: ({ span, from, to, groupMs, dayFrom, monthFrom }: HistoryQuery) => ({
      points: points
        .all({ span, from, to, groupMs })
        .map(({ at, upstream, ...figures }) => ({ at, upstream, figures })),
      parts: parts.all({ span, from, to }).map(({ upstream, provider, model, ...figures }) => {
        return { upstream, provider, model, figures };
      }),
      keys: keys.all({ span, from, to }).map(({ key, ...figures }) => ({ key, figures })),
      today: since.get({ from: dayFrom, to }) ?? NO_USAGE,
      thisMonth: since.get({ from: monthFrom, to }) ?? NO_USAGE,
    }),
    /** Newest first, as JSON. */
    rows: requests.rows,
    /** As JSON; null if it is not stored. */
    row: requests.row,
    asked: asked.all,
    /** The sums of the last days that have any. */
    before: (): UsageBefore => ({
      spent: spent.all(),
      keyRequests: keyRequests.all(),
      keyTokens: keyTokens.all(),
    }),
    /** Deletes rows that are too old, and the oldest beyond the limits. */
    prune: (nowMs: number) => prune.immediate(nowMs),
  };
}

/** Figures with the columns that identify what they belong to. */
type PlaceRow<Column extends keyof UsagePlace> = Pick<UsagePlace, Column> & UsageFigures;

interface Steps extends Pick<HistoryQuery, 'span' | 'stepMs' | 'groupMs'> {
  readonly from: (now: number) => number;
}

/** The start of the first of `steps`, of which the last is the current one. */
const back = (stepMs: number, steps: number) => (now: number) =>
  now - (now % stepMs) - (steps - 1) * stepMs;

const STEPS: Readonly<Record<HistoryRange, Steps>> = {
  hour: { span: 'minute', stepMs: 60_000, groupMs: 60_000, from: back(60_000, 60) },
  day: { span: 'minute', stepMs: 900_000, groupMs: 900_000, from: back(900_000, 96) },
  week: { span: 'hour', stepMs: HOUR_MS, groupMs: HOUR_MS, from: back(HOUR_MS, 168) },
  month: {
    span: 'day',
    stepMs: DAY_MS,
    groupMs: 1,
    from: (now) => dayOf(now, -29),
  },
};

export function queryOf(range: HistoryRange, now: number): HistoryQuery {
  const { from, ...steps } = STEPS[range];
  return { ...steps, from: from(now), to: now, dayFrom: dayOf(now), monthFrom: monthOf(now) };
}

/** Callers choose model names, so there may be any number; a longer list to choose from helps nobody. */
const MAX_VALUES = 200;

/** The requested page of `rows`, which are requests that have ended, newest first. */
export function pageOf(
  rows: readonly RequestRow[],
  { filter, by, before, limit }: RequestsWanted,
): RequestPage {
  const facets = facetsOf(rows, filter, by);
  const shortened = FACETS.map((facet) => [facet, facets[facet].slice(0, MAX_VALUES)]);
  const matching = rows.filter(
    (row) => row.startedAt <= (before ?? Infinity) && matchesFilter(row, filter, by),
  );
  return {
    data: matching.toSorted((a, b) => b.startedAt - a.startedAt).slice(0, limit),
    counts: countsOf(rows, by),
    facets: Object.fromEntries(shortened) as RequestPage['facets'],
    machines: machinesIn(rows),
  };
}
