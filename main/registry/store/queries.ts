import type { Database } from 'better-sqlite3';
import type { z } from 'zod';
import { createEnrolledCount } from './enrolled-count.ts';
import { explain, failureOf } from './errors.ts';
import type { SettledWrite, Unreadable, WriteRequest } from './protocol.ts';
import {
  documentRowSchema,
  enrollmentRowSchema,
  eventRowSchema,
  problemOf,
  providerOf,
  providerRow,
  providerRowSchema,
} from './rows.ts';
import {
  type StoreChange,
  EVENTS_KEPT,
  type StoredEnrollment,
  type StoredEvent,
  type StoredProvider,
  type StoredState,
  type WriteResult,
} from './store.ts';

export interface Writer {
  /** Writes all requests in one transaction; they are on disk once this returns `written`. */
  commit(requests: readonly WriteRequest[]): readonly SettledWrite[];
  /** Newest first. */
  events(providerId: string, limit: number): readonly StoredEvent[];
}

/** `path` is the file of `db`. */
export function createWriter(db: Database, path: string): Writer {
  const apply = createApply(db);
  const applyAll = db.transaction((requests: readonly WriteRequest[]) => {
    for (const { changes } of requests) for (const change of changes) apply(change);
  });
  const enrolled = createEnrolledCount(
    path,
    db.prepare<[], string>('SELECT id FROM providers').pluck().iterate(),
  );
  const readEvents = db.prepare(
    'SELECT provider_id, at, kind, text FROM events WHERE provider_id = ? ORDER BY id DESC LIMIT ?',
  );

  function commit(requests: readonly WriteRequest[]): readonly SettledWrite[] {
    try {
      const changes = requests.flatMap((request) => request.changes);
      enrolled.around(changes, () => applyAll.immediate(requests));
      return settled(requests, { kind: 'written' });
    } catch (error) {
      const failure = failureOf(error);
      // A refused change concerns only its sender; the others are written without it.
      if (failure.kind === 'refused' && requests.length > 1)
        return requests.flatMap((request) => commit([request]));
      return settled(requests, { kind: 'unwritten', message: explain(failure, path) });
    }
  }

  return {
    commit,
    events(providerId, limit) {
      const rows = readEvents.all(providerId, Math.max(0, Math.min(limit, EVENTS_KEPT)));
      return rows.flatMap((row) => {
        const { success, data } = eventRowSchema.safeParse(row);
        if (!success) return [];
        const { provider_id, ...event } = data;
        return [{ providerId: provider_id, ...event }];
      });
    },
  };
}

function settled(requests: readonly WriteRequest[], result: WriteResult): SettledWrite[] {
  return requests.map(({ id }) => ({ id, result }));
}

/** Applies one change within the open transaction. */
function createApply(db: Database): (change: StoreChange) => void {
  // Not REPLACE, which first deletes the row, and its events with it.
  const putProvider = db.prepare(
    `INSERT INTO providers VALUES (:id, :public_key, :token_salt, :enrolled_at, :sequence,
       :last_heartbeat_at, :last_heartbeat_ip, :heartbeat_count, :record, :verification)
     ON CONFLICT (id) DO UPDATE SET public_key = excluded.public_key,
       token_salt = excluded.token_salt, enrolled_at = excluded.enrolled_at,
       sequence = excluded.sequence, last_heartbeat_at = excluded.last_heartbeat_at,
       last_heartbeat_ip = excluded.last_heartbeat_ip, heartbeat_count = excluded.heartbeat_count,
       record = excluded.record, verification = excluded.verification`,
  );
  const dropProvider = db.prepare('DELETE FROM providers WHERE id = ?');
  const putEnrollment = db.prepare(
    `INSERT INTO enrollments VALUES (?, ?)
     ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at`,
  );
  const dropEnrollment = db.prepare('DELETE FROM enrollments WHERE digest = ?');
  // A late event of a removed provider is dropped.
  const putEvent = db.prepare(
    `INSERT INTO events (provider_id, at, kind, text)
     SELECT :providerId, :at, :kind, :text WHERE EXISTS (SELECT 1 FROM providers WHERE id = :providerId)`,
  );
  const dropOldEvents = db.prepare(
    `DELETE FROM events WHERE provider_id = :id AND id <=
       (SELECT id FROM events WHERE provider_id = :id ORDER BY id DESC LIMIT 1 OFFSET ${EVENTS_KEPT})`,
  );
  const putDocument = db.prepare(
    'INSERT INTO documents VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET json = excluded.json',
  );

  const dropDocument = db.prepare('DELETE FROM documents WHERE name = ?');

  return (change) => {
    switch (change.kind) {
      case 'provider':
        putProvider.run(providerRow(change.provider));
        return;
      case 'provider_removed':
        dropProvider.run(change.id);
        return;
      case 'enrollment':
        putEnrollment.run(change.enrollment.digest, change.enrollment.expiresAt);
        return;
      case 'enrollment_removed':
        dropEnrollment.run(change.digest);
        return;
      case 'event':
        putEvent.run(change.event);
        dropOldEvents.run({ id: change.event.providerId });
        return;
      case 'document':
        putDocument.run(change.name, change.json);
        return;
      case 'document_removed':
        dropDocument.run(change.name);
    }
  };
}

export interface Loaded {
  readonly state: StoredState;
  readonly unreadable: readonly Unreadable[];
}

/** Reads everything but the events; throws if the file itself is damaged. */
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
  // The digest of a token is not logged; the number of rows is enough.
  for (const { digest, expires_at: expiresAt } of rows('enrollments', '', enrollmentRowSchema))
    enrollments.push({ digest, expiresAt });
  const documents = Object.fromEntries(
    [...rows('documents', 'name', documentRowSchema)].map(({ name, json }) => [name, json]),
  );
  return { state: { providers, enrollments, documents }, unreadable: [...unreadable.values()] };
}

/** A name that is safe to log, whatever a damaged file contains. */
function label(value: unknown): string {
  return typeof value === 'string' && /^[\w.:-]{1,64}$/.test(value) ? value : '?';
}
