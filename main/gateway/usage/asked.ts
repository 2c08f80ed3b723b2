import type { Database } from 'better-sqlite3';
import type { RequestRow } from '#shared/live.ts';
import { dayOf } from '../../platform/dates.ts';

/* The names that apps asked for, and where they went: by day, because a month is all that anybody looks back. */

export const ASKED_DAYS = 30;

/** Requests for one name that went to one place. */
export interface AskedAt {
  readonly name: string;
  readonly upstream: string;
  readonly provider: string;
  readonly model: string;
  readonly calls: number;
  /** Of the last one, in milliseconds since the epoch. */
  readonly lastAt: number;
}

/** Where a request that has ended went; null if it named no model. */
export function askedOf(row: RequestRow, atMs: number): AskedAt | null {
  if (row.model === null || row.model === '') return null;
  const attempt = row.attempts.findLast((each) => each.upstream === row.upstream);
  const { provider = null, model = null } = row.upstream === null ? {} : (attempt ?? {});
  return {
    name: row.model,
    upstream: row.upstream ?? '',
    provider: provider ?? '',
    model: model ?? '',
    calls: 1,
    lastAt: atMs,
  };
}

/** Callers choose names: beyond this many places in one write the rest are not counted. */
const MAX_PLACES = 1000;

/** Sums what was asked for since the last write. */
export function createAskedTally() {
  let places = new Map<string, { readonly asked: AskedAt; calls: number; lastAt: number }>();
  return {
    add(asked: AskedAt): void {
      const { name, upstream, provider, model, calls, lastAt } = asked;
      // With its length, because callers choose the name.
      const key = `${upstream}\n${provider}\n${name.length}\n${name}\n${model}`;
      const before = places.get(key);
      if (before !== undefined) {
        before.calls += calls;
        before.lastAt = Math.max(before.lastAt, lastAt);
      } else if (places.size < MAX_PLACES) places.set(key, { asked, calls, lastAt });
    },
    take(): readonly AskedAt[] {
      const taken = [...places.values()];
      places = new Map();
      return taken.map(({ asked, calls, lastAt }) => ({ ...asked, calls, lastAt }));
    },
  };
}

export const ASKED_SCHEMA = `CREATE TABLE asked (
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

export function askedQueries(db: Database) {
  const add = db.prepare(
    `INSERT INTO asked (day, name, upstream, provider, model, calls, lastAt)
     VALUES (@day, @name, @upstream, @provider, @model, @calls, @lastAt)
     ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, lastAt = max(lastAt, excluded.lastAt)`,
  );
  const all = db.prepare<object, AskedAt>(
    `WITH frequent AS (
       SELECT name FROM asked WHERE day BETWEEN @from AND @to GROUP BY 1
       ORDER BY sum(calls) DESC, 1 LIMIT ${MAX_NAMES})
     SELECT name, upstream, provider, model, sum(calls) AS calls, max(lastAt) AS lastAt
     FROM asked WHERE day BETWEEN @from AND @to AND name IN (SELECT name FROM frequent)
     GROUP BY 1, 2, 3, 4 ORDER BY sum(calls) DESC, 1`,
  );
  const dropOld = db.prepare('DELETE FROM asked WHERE day < ?');
  const dropMany = db.prepare(
    `DELETE FROM asked WHERE day <= (SELECT day FROM asked ORDER BY day DESC LIMIT 1 OFFSET ${MAX_ROWS})`,
  );
  const fromOf = (nowMs: number) => dayOf(nowMs, 1 - ASKED_DAYS);
  return {
    add(asked: readonly AskedAt[]): void {
      for (const each of asked) add.run({ ...each, day: dayOf(each.lastAt) });
    },
    /** The most frequent first. */
    all: (nowMs: number) => all.all({ from: fromOf(nowMs), to: nowMs }),
    prune(nowMs: number): void {
      dropOld.run(fromOf(nowMs));
      dropMany.run();
    },
  };
}
