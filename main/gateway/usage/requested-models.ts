import type { Database } from 'better-sqlite3';
import type { RequestRow } from '#shared/live.ts';
import { dayOf } from '../../platform/dates.ts';

/* The names that apps asked for, and where they went: by day, because a month is all that anybody looks back. */

export const REQUESTED_DAYS = 30;

/** Requests for one name that went to one place. */
export interface RequestedModel {
  readonly name: string;
  readonly upstream: string;
  readonly provider: string;
  readonly model: string;
  readonly calls: number;
  /** Of the last one, in milliseconds since the epoch. */
  readonly lastAt: number;
}

/** Where a request that has ended went; null if it named no model. */
export function requestedModelOf(row: RequestRow): RequestedModel | null {
  if (row.model === null || row.model === '') return null;
  const attempt = row.attempts.findLast((each) => each.upstream === row.upstream);
  const { provider = null, model = null } = row.upstream === null ? {} : (attempt ?? {});
  return {
    name: row.model,
    upstream: row.upstream ?? '',
    provider: provider ?? '',
    model: model ?? '',
    calls: 1,
    lastAt: row.startedAt + (row.endMs ?? 0),
  };
}

export const REQUESTED_MODELS_TABLE = `CREATE TABLE requested_models (
     day INTEGER NOT NULL,
     name TEXT NOT NULL,
     upstream TEXT NOT NULL,
     provider TEXT NOT NULL,
     model TEXT NOT NULL,
     calls INTEGER NOT NULL,
     lastAt INTEGER NOT NULL,
     PRIMARY KEY (day, name, upstream, provider, model)
   ) STRICT, WITHOUT ROWID;`;

/** More names than that are no help on a page. */
const MAX_NAMES = 200;
/** Some 5 MB. An app that makes up names fills it in a day, and then the oldest days go. */
const MAX_ROWS = 50_000;

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
    `DELETE FROM requested_models WHERE day <= (SELECT day FROM requested_models ORDER BY day DESC LIMIT 1 OFFSET ${MAX_ROWS})`,
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
