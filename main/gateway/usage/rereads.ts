import type { ReadReason, Reread } from '#shared/usage.ts';
import type { Database } from 'better-sqlite3';
import type { RequestRow } from '#shared/live.ts';

/* Tokens that own engines read again, by day and reason. */

/** Of a request that has ended. */
export const rereadsOf = ({ attempts }: RequestRow): readonly Reread[] =>
  attempts.flatMap(({ reading }) =>
    reading === undefined || reading.again === 0
      ? []
      : [{ why: reading.why, turns: 1, tokens: reading.again }],
  );

export const REREADS_TABLE = `CREATE TABLE rereads (
     day INTEGER NOT NULL,
     why TEXT NOT NULL,
     turns INTEGER NOT NULL,
     tokens INTEGER NOT NULL,
     PRIMARY KEY (day, why)
   ) STRICT, WITHOUT ROWID;`;

export function rereadQueries(db: Database) {
  const add = db.prepare(
    `INSERT INTO rereads (day, why, turns, tokens) VALUES (@day, @why, @turns, @tokens)
     ON CONFLICT DO UPDATE SET turns = turns + excluded.turns, tokens = tokens + excluded.tokens`,
  );
  const all = db.prepare<object, Reread & { readonly why: ReadReason }>(
    'SELECT why, turns, tokens FROM rereads WHERE day = @day ORDER BY tokens DESC, why',
  );
  const dropOld = db.prepare('DELETE FROM rereads WHERE day < ?');
  return {
    add(day: number, reread: Reread): void {
      add.run({ day, ...reread });
      // Only today's are shown.
      dropOld.run(day);
    },
    all: (day: number): readonly Reread[] => all.all({ day }),
  };
}
