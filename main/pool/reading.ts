import { z } from 'zod';
import {
  documentRowSchema,
  enrollmentRowSchema,
  eventRowSchema,
  providerOf,
  providerRowSchema,
} from '../registry/store/rows.ts';
import { EVENTS_KEPT, type StoredEvent } from '../registry/store/store.ts';
import type { PoolWriter } from './commit.ts';
import type { Connection } from './connection.ts';
import type { PoolChanges, PoolProvider, Removed } from './protocol.ts';

/** Providers read at a time, in about 20 ms; those of one commit stay together. */
const PAGE = 250;

/* `$1` is the last revision read, `$2` the run and `$3` the home of the gateway; `$4` asks for everything. */
const CHANGES = `
SELECT json_build_object(
  'revision', (SELECT revision FROM switchyard.pool),
  'providers', (SELECT coalesce(json_agg(p), '[]') FROM (
    SELECT id, public_key, token_salt, enrolled_at, sequence, last_heartbeat_at, last_heartbeat_ip, heartbeat_count,
      CASE WHEN heard_by = $2 AND NOT $4 THEN NULL ELSE record END AS record,
      coalesce(heard_by = $2, false) AND NOT $4 AS is_own_report, verification, generation, fence, revision,
      floor(greatest(0, extract(epoch FROM clock_timestamp() - heard_at)) * 1000) AS age_ms
    FROM switchyard.providers WHERE revision > $1 AND (home IS NULL OR home = $3)
    ORDER BY revision FETCH FIRST ${PAGE} ROWS WITH TIES) p),
  'enrollments', (SELECT coalesce(json_agg(e), '[]') FROM switchyard.enrollments e WHERE revision > $1),
  'documents', (SELECT coalesce(json_agg(d), '[]') FROM switchyard.documents d WHERE revision > $1),
  'removed', (SELECT coalesce(json_agg(r), '[]') FROM switchyard.removals r WHERE revision > $1 AND NOT $4),
  'all', CASE WHEN $4 THEN (SELECT coalesce(json_agg(id), '[]') FROM (
    SELECT id FROM switchyard.providers WHERE home IS NULL OR home = $3
    UNION ALL SELECT digest FROM switchyard.enrollments) ids) END
) AS page`;

const count = z.int().nonnegative();
const poolRowSchema = providerRowSchema.extend({
  generation: count,
  fence: count,
  revision: count,
  is_own_report: z.boolean(),
  age_ms: z.number().nullable(),
});
const pageSchema = z.object({
  revision: count,
  providers: z.array(z.unknown()),
  enrollments: z.array(z.unknown()),
  documents: z.array(z.unknown()),
  removed: z.array(
    z.object({
      kind: z.enum(['provider', 'enrollment', 'document']),
      id: z.string(),
      revision: count,
    }),
  ),
  all: z.array(z.string()).nullable(),
});

/** One page of what was committed after a revision. */
interface Page {
  readonly changes: PoolChanges;
  /** The revision that has been read up to. */
  readonly revision: number;
  readonly isLast: boolean;
}

/** `isComplete` asks for everything, however long the gap was. */
export async function readChanges(
  connection: Connection,
  after: { readonly revision: number; readonly isComplete: boolean },
  { run, home }: PoolWriter,
): Promise<Page> {
  const [row] = await connection.query<{ readonly page: unknown }>(CHANGES, [
    after.revision,
    run,
    home,
    after.isComplete,
  ]);
  const page = pageSchema.parse(row?.page);
  // A row that cannot be read counts as missing, as in a file.
  const rows = page.providers.flatMap((each) => poolRowSchema.safeParse(each).data ?? []);
  const isLast = page.providers.length < PAGE;
  const last = rows.at(-1)?.revision ?? page.revision;
  return {
    changes: {
      providers: rows.map(poolProviderOf),
      enrollments: page.enrollments.flatMap((each) => {
        const enrollment = enrollmentRowSchema.safeParse(each).data;
        if (enrollment === undefined) return [];
        return [{ digest: enrollment.digest, expiresAt: enrollment.expires_at }];
      }),
      documents: documentsOf(page.documents),
      removed: page.removed satisfies readonly Removed[],
      all: page.all === null ? null : { ids: page.all, revision: page.revision },
    },
    revision: isLast ? page.revision : last,
    isLast,
  };
}

function poolProviderOf(row: z.infer<typeof poolRowSchema>): PoolProvider {
  const { generation, fence } = row;
  return {
    provider: providerOf(row).provider,
    stamp: { generation, fence },
    ageMs: row.age_ms,
    isOwnReport: row.is_own_report,
    revision: row.revision,
  };
}

function documentsOf(rows: readonly unknown[]): PoolChanges['documents'] {
  const documents = rows.flatMap((row) => documentRowSchema.safeParse(row).data ?? []);
  return Object.fromEntries(documents.map(({ name, json }) => [name, json]));
}

/** Newest first. */
export async function readEvents(
  connection: Connection,
  providerId: string,
  limit: number,
): Promise<readonly StoredEvent[]> {
  const rows = await connection.query(
    `SELECT provider_id, at::float8 AS at, kind, text FROM switchyard.events WHERE provider_id = $1
     ORDER BY id DESC LIMIT $2`,
    [providerId, Math.max(0, Math.min(limit, EVENTS_KEPT))],
  );
  return rows.flatMap((row) => {
    const { success, data } = eventRowSchema.safeParse(row);
    if (!success) return [];
    const { provider_id, ...event } = data;
    return [{ providerId: provider_id, ...event }];
  });
}
