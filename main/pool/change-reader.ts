import { z } from 'zod';
import { createTurns } from '../platform/async.ts';
import type { Clock } from '../platform/clock.ts';
import type { Unusable } from '../registry/store/errors.ts';
import {
  documentRowSchema,
  enrollmentRowSchema,
  eventsIn,
  providerOf,
  providerRowSchema,
} from '../registry/store/rows.ts';
import { EVENTS_KEPT, type StoredEvent, type StoredState } from '../registry/store/store.ts';
import { type PoolWriter, writerOf } from './commit.ts';
import type { Connection, Session } from './connection.ts';
import {
  MACHINES_AT_ONCE,
  piecesOf,
  type PoolChanges,
  type PoolOpening,
  type PoolProvider,
  type PoolTimes,
  type PoolWorkerData,
  type Removal,
  type Stamp,
} from './protocol.ts';

/** Providers read at a time, in about 20 ms; those of one commit stay together. */
const PAGE = 250;

/*
 * `$1` is the last revision read, `$2` the run and `$3` the home of the gateway; `$4` asks for everything, also what this
 * gateway has written itself, and `$5` begins that.
 */
const CHANGES = `
SELECT json_build_object(
  'revision', (SELECT revision FROM inglenook.pool),
  'providers', (SELECT coalesce(json_agg(p), '[]') FROM (
    SELECT id, public_key, token_salt, enrolled_at, sequence, last_heartbeat_at, last_heartbeat_ip, heartbeat_count,
      CASE WHEN heard_by = $2 AND NOT $4 THEN NULL ELSE record END AS record,
      coalesce(heard_by = $2, false) AND NOT $4 AS is_own_report, verification, generation, fence, revision,
      floor(greatest(0, extract(epoch FROM clock_timestamp() - heard_at)) * 1000) AS age_ms
    FROM inglenook.providers WHERE revision > $1 AND (home IS NULL OR home = $3)
    ORDER BY revision FETCH FIRST ${PAGE} ROWS WITH TIES) p),
  'enrollments', (SELECT coalesce(json_agg(e), '[]') FROM inglenook.enrollments e WHERE revision > $1),
  'documents', (SELECT coalesce(json_agg(d), '[]') FROM inglenook.documents d WHERE revision > $1),
  'removed', (SELECT coalesce(json_agg(r), '[]') FROM inglenook.removals r WHERE revision > $1 AND NOT $5),
  'all', CASE WHEN $5 THEN (SELECT coalesce(json_agg(id), '[]') FROM (
    SELECT id FROM inglenook.providers WHERE home IS NULL OR home = $3
    UNION ALL SELECT digest FROM inglenook.enrollments) ids) END
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

interface Page {
  readonly changes: PoolChanges;
  /** The revision that has been read up to. */
  readonly revision: number;
  readonly isLast: boolean;
}

/** `isComplete` asks for everything, however long the gap was; null for `revision` begins with its first page. */
async function readChanges(
  connection: Connection,
  after: { readonly revision: number | null; readonly isComplete: boolean },
  { run, home }: PoolWriter,
): Promise<Page> {
  const [row] = await connection.query<{ readonly page: unknown }>(CHANGES, [
    after.revision ?? -1,
    run,
    home,
    after.isComplete,
    after.revision === null,
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
      removed: page.removed satisfies readonly Removal[],
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

export async function readEvents(
  connection: Connection,
  providerId: string,
  limit: number,
): Promise<readonly StoredEvent[]> {
  const rows = await connection.query(
    `SELECT provider_id, at::float8 AS at, kind, text FROM inglenook.events WHERE provider_id = $1
     ORDER BY id DESC LIMIT $2`,
    [providerId, Math.max(0, Math.min(limit, EVENTS_KEPT))],
  );
  return eventsIn(rows);
}

/** Reads what all gateways have committed: when it is announced, and regularly. */
export type PoolReader = ReturnType<typeof createPoolReader>;

interface ReaderDeps {
  readonly data: PoolWorkerData;
  readonly clock: Clock;
  readonly session: () => Session | null;
  readonly onChanges: (changes: PoolChanges) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/** Announcements within this time are read together, because many machines cause some at any moment. */
const BATCH_MS = 100;
/** The database keeps removals for an hour; after half of that without reading, everything is read. */
const GAP_MS = 1_800_000;

export function createPoolReader(deps: ReaderDeps) {
  const { clock, data, onChanges } = deps;
  const writer = writerOf(data);
  let revision = -1;
  let readTicks = -Infinity;
  // One at a time: of two concurrent readings, the older could bring back what the newer one has removed.
  const inTurn = createTurns();
  /** The reading that waits: it starts when earlier ones have ended, and sees what was committed until then. */
  let queued: Promise<void> | null = null;
  let isArmed = false;

  async function read(session: Session, all: boolean): Promise<void> {
    const startedTicks = clock.ticks();
    const isComplete = all || startedTicks - readTicks > GAP_MS;
    let from = isComplete ? null : revision;
    let isLast = false;
    while (!isLast) {
      const page = await readChanges(session.reader, { revision: from, isComplete }, writer);
      await handOn(page.changes, onChanges);
      ({ revision, isLast } = page);
      from = revision;
    }
    readTicks = startedTicks;
  }

  /** Any number of calls share one waiting read; a failure gives up the session. */
  function readAgain(): Promise<void> {
    queued ??= inTurn(async () => {
      queued = null;
      const session = deps.session();
      if (session === null) return;
      try {
        await read(session, false);
      } catch (error) {
        if (deps.session() === session) deps.onFailure(error);
      }
    });
    return queued;
  }

  return {
    /** Reads everything, for a new session; resolves once it is read. */
    begin: (session: Session): Promise<void> => inTurn(() => read(session, true)),
    /** Something may have been committed. */
    wake(): void {
      if (isArmed) return;
      isArmed = true;
      clock.after(BATCH_MS, () => {
        isArmed = false;
        void readAgain();
      });
    },
    /** Resolves once everything committed before the call is read, or the database does not answer. */
    refresh: readAgain,
    revision: (): number => revision,
  };
}

async function handOn(changes: PoolChanges, onChanges: ReaderDeps['onChanges']): Promise<void> {
  const { providers, ...rest } = changes;
  const { enrollments, documents, removed, all } = rest;
  const others = enrollments.length + Object.keys(documents).length + removed.length;
  const isNothing = others === 0 && all === null;
  if (!isNothing) await onChanges({ ...rest, providers: [] });
  for (const piece of piecesOf(providers, MACHINES_AT_ONCE))
    await onChanges({
      providers: piece,
      enrollments: [],
      documents: {},
      removed: [],
      all: null,
    });
}

interface OpeningDeps {
  readonly clock: Clock;
  readonly times: PoolTimes;
  readonly say: (opening: PoolOpening) => void;
  /** Why the database has not answered. */
  readonly problem: () => string;
}

/** Collects what is read before the registry exists. */
export function createOpening({ clock, times, say, problem }: OpeningDeps) {
  let read: PoolChanges[] | null = [];

  function complete(warning: string | null): void {
    if (read === null) return;
    const { state, stamps } = contentOf(read);
    read = null;
    cancel();
    say({ kind: 'open', state, stamps, unreadable: [], warning });
  }

  const cancel = clock.after(times.startMs, () => complete(problem()));
  return {
    isOver: (): boolean => read === null,
    add: (changes: PoolChanges) => void read?.push(changes),
    complete,
    refuse(opening: Unusable): void {
      read = null;
      cancel();
      say(opening);
    },
    cancel,
  };
}

function contentOf(
  pieces: readonly PoolChanges[],
): Pick<Extract<PoolOpening, { readonly kind: 'open' }>, 'state' | 'stamps'> {
  const providers = new Map<string, StoredState['providers'][number]>();
  const enrollments = new Map<string, StoredState['enrollments'][number]>();
  const documents = new Map<string, string>();
  const stamps = new Map<string, Stamp>();
  for (const piece of pieces) {
    const there = piece.all === null ? null : new Set(piece.all.ids);
    for (const known of [providers, enrollments])
      for (const id of known.keys()) if (there?.has(id) === false) known.delete(id);
    for (const { kind, id } of piece.removed) {
      if (kind === 'provider') providers.delete(id);
      if (kind === 'enrollment') enrollments.delete(id);
      if (kind === 'document') documents.delete(id);
    }
    for (const { provider, stamp } of piece.providers) {
      providers.set(provider.id, provider);
      stamps.set(provider.id, stamp);
    }
    for (const enrollment of piece.enrollments) enrollments.set(enrollment.digest, enrollment);
    for (const [name, json] of Object.entries(piece.documents)) documents.set(name, json);
  }
  return {
    state: {
      providers: [...providers.values()],
      enrollments: [...enrollments.values()],
      documents: Object.fromEntries(documents),
    },
    stamps,
  };
}
