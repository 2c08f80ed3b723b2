import type { Database } from 'better-sqlite3';
import type { z } from 'zod';
import type { StoredEnrollment, StoredProvider, StoredState } from '../types.ts';
import type { Unreadable } from './messages.ts';
import {
  documentRowSchema,
  enrollmentRowSchema,
  problemOf,
  providerOf,
  providerRowSchema,
} from './rows.ts';

/** What was kept, and what of it could not be read. */
export interface Loaded {
  readonly state: StoredState;
  readonly unreadable: readonly Unreadable[];
}

/** Reads everything that was kept but the events; throws where the file itself is damaged. */
export function loadState(db: Database): Loaded {
  const unreadable = new Map<string, Unreadable>();
  const note = (found: Omit<Unreadable, 'rows'>) => {
    const key = `${found.table} ${found.part}`;
    const seen = unreadable.get(key);
    unreadable.set(
      key,
      seen === undefined ? { ...found, rows: 1 } : { ...seen, rows: seen.rows + 1 },
    );
  };
  function* rows<T extends z.ZodType>(table: Unreadable['table'], name: string, schema: T) {
    for (const row of db.prepare<[], Record<string, unknown>>(`SELECT * FROM ${table}`).iterate()) {
      const result = schema.safeParse(row);
      if (result.success) yield result.data;
      else note({ table, part: 'row', first: label(row[name]), problem: problemOf(result.error) });
    }
  }

  const providers: StoredProvider[] = [];
  for (const row of rows('providers', 'id', providerRowSchema)) {
    const { provider, damaged } = providerOf(row);
    providers.push(provider);
    for (const part of damaged) note({ table: 'providers', first: label(row.id), ...part });
  }
  const enrollments: StoredEnrollment[] = [];
  // The digest of a token stays out of the log; the number of rows says enough.
  for (const { digest, expires_at: expiresAt } of rows('enrollments', '', enrollmentRowSchema))
    enrollments.push({ digest, expiresAt });
  const documents = Object.fromEntries(
    [...rows('documents', 'name', documentRowSchema)].map(({ name, json }) => [name, json]),
  );
  return { state: { providers, enrollments, documents }, unreadable: [...unreadable.values()] };
}

/** A name fit for a log line, whatever a damaged file holds. */
function label(value: unknown): string {
  return typeof value === 'string' && /^[\w.:-]{1,64}$/.test(value) ? value : '?';
}
