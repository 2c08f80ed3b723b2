import type { SettledWrite, WriteRequest } from '../registry/store/open-store.ts';
import { providerRow } from '../registry/store/rows.ts';
import { EVENTS_KEPT, type StoredProvider, type WriteResult } from '../registry/store/store.ts';
import { type Connection, databaseFailureOf, explainDatabase, type Session } from './connection.ts';
import type { PoolWorkerData, PoolWriteResult, Stamp, StampedChange } from './protocol.ts';

/** The channel on which each commit is announced. */
export const CHANNEL = 'inglenook_pool';

/** Columns by name, because a newer version may have added some, even since `r` was made. */
const INSERT_PROVIDER = `INSERT INTO inglenook.providers (id, public_key, token_salt, enrolled_at, sequence,
        last_heartbeat_at, last_heartbeat_ip, heartbeat_count, record, verification, generation, fence, home, revision)
      VALUES (r.id, r.public_key, r.token_salt, r.enrolled_at, r.sequence,
        r.last_heartbeat_at, r.last_heartbeat_ip, r.heartbeat_count, r.record, r.verification, r.generation, r.fence, r.home,
        r.revision)`;

/*
 * A batch is one statement, so that no gateway can stop in the middle of a transaction and block the others. The
 * functions belong to the session, so that gateways of different versions each have their own. The row of the pool is
 * locked first, so that commits are serialised and their revisions become visible in order.
 */
const FUNCTIONS = `
CREATE OR REPLACE FUNCTION pg_temp.refuse(reason text, detail text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'SY001', MESSAGE = reason, DETAIL = detail;
END $$;

CREATE OR REPLACE FUNCTION pg_temp.put_heartbeat(r inglenook.providers, me text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE last bigint;
BEGIN
  UPDATE inglenook.providers p SET sequence = r.sequence, last_heartbeat_at = r.last_heartbeat_at,
    last_heartbeat_ip = r.last_heartbeat_ip, heartbeat_count = greatest(p.heartbeat_count + 1, r.heartbeat_count),
    record = r.record, heard_at = clock_timestamp(), heard_by = me, revision = r.revision,
    verification = CASE WHEN (r.generation, r.fence) > (p.generation, p.fence) THEN r.verification ELSE p.verification END,
    fence = CASE WHEN (r.generation, r.fence) > (p.generation, p.fence) THEN r.fence ELSE p.fence END,
    generation = greatest(p.generation, r.generation)
  WHERE p.id = r.id AND p.sequence < r.sequence;
  IF FOUND THEN RETURN; END IF;
  SELECT p.sequence INTO last FROM inglenook.providers p WHERE p.id = r.id;
  IF NOT FOUND THEN PERFORM pg_temp.refuse('removed', ''); END IF;
  PERFORM pg_temp.refuse('sequence', last::text);
END $$;

CREATE OR REPLACE FUNCTION pg_temp.put_provider(part text, r inglenook.providers, me text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  CASE part
    WHEN 'heartbeat' THEN PERFORM pg_temp.put_heartbeat(r, me);
    WHEN 'verification' THEN
      UPDATE inglenook.providers p SET verification = r.verification, fence = r.fence, revision = r.revision
      WHERE p.id = r.id AND p.generation = r.generation AND p.fence < r.fence;
      IF NOT FOUND THEN PERFORM pg_temp.refuse('outdated', ''); END IF;
    WHEN 'enrolled' THEN
      ${INSERT_PROVIDER}
      ON CONFLICT (id) DO UPDATE SET token_salt = excluded.token_salt, verification = excluded.verification,
        sequence = greatest(inglenook.providers.sequence, excluded.sequence),
        generation = inglenook.providers.generation + 1, revision = excluded.revision;
    ELSE
      ${INSERT_PROVIDER}
      ON CONFLICT (id) DO UPDATE SET public_key = excluded.public_key, token_salt = excluded.token_salt,
        enrolled_at = excluded.enrolled_at, sequence = excluded.sequence,
        last_heartbeat_at = excluded.last_heartbeat_at, last_heartbeat_ip = excluded.last_heartbeat_ip,
        heartbeat_count = excluded.heartbeat_count, record = excluded.record,
        verification = excluded.verification, revision = excluded.revision;
  END CASE;
END $$;

CREATE OR REPLACE FUNCTION pg_temp.put_event(e jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- A late event of a removed provider is dropped.
  INSERT INTO inglenook.events (provider_id, at, kind, text)
  SELECT p.id, (e->>'at')::bigint, e->>'kind', e->>'text'
  FROM inglenook.providers p WHERE p.id = e->>'providerId';
  DELETE FROM inglenook.events WHERE provider_id = e->>'providerId' AND id <= (SELECT id FROM inglenook.events
    WHERE provider_id = e->>'providerId' ORDER BY id DESC LIMIT 1 OFFSET ${EVENTS_KEPT});
END $$;

CREATE OR REPLACE FUNCTION pg_temp.apply_change(c jsonb, rev bigint, me text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r inglenook.providers;
BEGIN
  CASE c->>'kind'
    WHEN 'provider' THEN
      r := jsonb_populate_record(NULL::inglenook.providers, c->'row');
      r.revision := rev;
      PERFORM pg_temp.put_provider(c->>'part', r, me);
    WHEN 'provider_removed' THEN
      DELETE FROM inglenook.providers WHERE id = c->>'id';
      -- A lease that is held is kept: the machine may join again before every gateway knows that it was removed.
      DELETE FROM inglenook.leases WHERE name = 'verify ' || (c->>'id') AND until < clock_timestamp();
      INSERT INTO inglenook.removals (kind, id, revision) VALUES ('provider', c->>'id', rev);
      DELETE FROM inglenook.removals WHERE removed_at < clock_timestamp() - interval '1 hour';
    WHEN 'enrollment' THEN
      INSERT INTO inglenook.enrollments VALUES (c->>'digest', (c->>'expiresAt')::bigint, rev)
      ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at, revision = excluded.revision;
    WHEN 'enrollment_removed' THEN
      DELETE FROM inglenook.enrollments WHERE digest = c->>'digest';
      IF NOT FOUND AND c->>'isUsed' = 'true' THEN PERFORM pg_temp.refuse('token', ''); END IF;
      INSERT INTO inglenook.removals (kind, id, revision) VALUES ('enrollment', c->>'digest', rev);
    WHEN 'event' THEN PERFORM pg_temp.put_event(c->'event');
    WHEN 'document' THEN
      INSERT INTO inglenook.documents VALUES (c->>'name', c->>'json', rev)
      ON CONFLICT (name) DO UPDATE SET json = excluded.json, revision = excluded.revision;
    WHEN 'document_removed' THEN
      DELETE FROM inglenook.documents WHERE name = c->>'name';
      INSERT INTO inglenook.removals (kind, id, revision) VALUES ('document', c->>'name', rev);
  END CASE;
END $$;

CREATE OR REPLACE FUNCTION pg_temp.commit_writes(writes jsonb, me text) RETURNS jsonb[] LANGUAGE plpgsql AS $$
DECLARE rev bigint; w jsonb; c jsonb; detail text; results jsonb[] := '{}';
BEGIN
  UPDATE inglenook.pool SET revision = revision + 1 RETURNING revision INTO rev;
  FOR w IN SELECT value FROM jsonb_array_elements(writes) LOOP
    BEGIN
      FOR c IN SELECT value FROM jsonb_array_elements(w) LOOP
        PERFORM pg_temp.apply_change(c, rev, me);
      END LOOP;
      results := results || jsonb_build_array('written', rev);
    EXCEPTION
      WHEN SQLSTATE 'SY001' THEN
        GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
        results := results || jsonb_build_array('refused', SQLERRM, detail);
      WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
        results := results || jsonb_build_array('unwritten', SQLSTATE);
    END;
  END LOOP;
  PERFORM pg_notify('${CHANNEL}', rev::text);
  RETURN results;
END $$;`;

/** The writing gateway: `run` identifies this run of it, `home` the gateway across its runs. */
export interface PoolWriter {
  readonly run: string;
  readonly home: string;
}

export async function prepareCommits(connection: Connection): Promise<void> {
  await connection.run(FUNCTIONS);
}

type CommitRow =
  | readonly ['written', number]
  | readonly ['refused', string, string]
  | readonly ['unwritten', string];

/** Writes all requests in one transaction; each is applied completely or not at all. */
export async function commit(
  connection: Connection,
  requests: readonly WriteRequest[],
  { run, home, shown }: PoolWriter & { readonly shown: string },
): Promise<readonly SettledWrite[]> {
  const writes = requests.map(({ changes }) => changes.map((change) => changeText(change, home)));
  const [row] = await connection.query<{ readonly results: readonly CommitRow[] }>(
    'SELECT to_jsonb(pg_temp.commit_writes($1::jsonb, $2)) AS results',
    [JSON.stringify(writes), run],
  );
  return requests.map(({ id }, at) => ({ id, result: resultOf(row?.results[at], shown) }));
}

function resultOf(given: CommitRow | undefined, shown: string): PoolWriteResult {
  if (given?.[0] === 'written') return { kind: 'written', revision: given[1] };
  if (given?.[0] !== 'refused') {
    const code = given?.[1] ?? 'unknown';
    return { kind: 'unwritten', message: explainDatabase({ kind: 'refused', code }, shown) };
  }
  const [, reason, detail] = given;
  if (reason === 'sequence') return { kind: 'refused', reason, last: Number(detail) };
  return { kind: 'refused', reason: reason as 'removed' | 'outdated' | 'token' };
}

/** A change in the form that the functions above read. */
function changeText(change: StampedChange, home: string): object {
  switch (change.kind) {
    case 'provider': {
      const { provider, part = 'whole', isOwn = false, stamp } = change;
      const row = rowOf(provider, { stamp: stamp ?? FIRST, home: isOwn ? home : null });
      // No other gateway writes the own machine.
      const changed = isOwn ? 'whole' : part === 'changed' ? 'heartbeat' : part;
      return { kind: 'provider', part: changed, row };
    }
    case 'enrollment':
      return { kind: 'enrollment', ...change.enrollment };
    case 'event':
      return { kind: 'event', event: { ...change.event, text: storable(change.event.text) } };
    case 'document':
      return { ...change, name: storable(change.name), json: storable(change.json) };
    case 'document_removed':
      return { ...change, name: storable(change.name) };
    case 'provider_removed':
    case 'enrollment_removed':
      return change;
  }
}

const FIRST: Stamp = { generation: 0, fence: 0 };

function rowOf(
  provider: StoredProvider,
  { stamp, home }: { readonly stamp: Stamp; readonly home: string | null },
): object {
  const row = providerRow(provider);
  return { ...row, last_heartbeat_ip: storable(row.last_heartbeat_ip), ...stamp, home };
}

/** PostgreSQL accepts neither NUL nor a lone surrogate in a text. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

export const writerOf = ({ gateway }: PoolWorkerData): PoolWriter => ({
  run: gateway.run,
  home: gateway.id,
});

/** Writes that wait for the database. */
export type WriteQueue = ReturnType<typeof createWriteQueue>;

interface QueueDeps {
  readonly data: PoolWorkerData;
  readonly session: () => Session | null;
  /** Why there is no session. */
  readonly problem: () => string;
  readonly onSettled: (writes: readonly SettledWrite[]) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Limits a commit, because its acknowledgements and the commits of other gateways wait for all of it. */
const MAX_BATCH = 100;
/** More than 10,000 machines send before a database counts as away. */
const MAX_WAITING = 5000;

export function createWriteQueue(deps: QueueDeps) {
  const { data, onSettled } = deps;
  const writer = { ...writerOf(data), shown: data.shown };
  const waiting: WriteRequest[] = [];
  let isCommitting = false;
  const idle: (() => void)[] = [];

  async function drain(): Promise<void> {
    if (isCommitting) return;
    isCommitting = true;
    while (waiting.length > 0) {
      const session = deps.session();
      if (session === null) refuse(deps.problem());
      else onSettled(await together(session, waiting.splice(0, MAX_BATCH)));
    }
    isCommitting = false;
    for (const resolve of idle.splice(0)) resolve();
  }

  async function together(
    session: Session,
    requests: readonly WriteRequest[],
  ): Promise<readonly SettledWrite[]> {
    try {
      return await commit(session.writer, requests, writer);
    } catch (error) {
      const failure = databaseFailureOf(error);
      if (failure.kind === 'refused' && requests.length > 1) {
        const settledEach: SettledWrite[] = [];
        for (const request of requests) settledEach.push(...(await together(session, [request])));
        return settledEach;
      }
      if (failure.kind !== 'refused') deps.onFailure(error);
      return settled(requests, explainDatabase(failure, data.shown));
    }
  }

  function refuse(message: string): void {
    if (waiting.length > 0) onSettled(settled(waiting.splice(0), message));
  }

  return {
    add(requests: readonly WriteRequest[]): void {
      const room = Math.max(0, MAX_WAITING - waiting.length);
      waiting.push(...requests.slice(0, room));
      const refused = requests.slice(room);
      if (refused.length > 0)
        onSettled(
          settled(refused, `Too many writes are waiting for the pool's database ${data.shown}.`),
        );
      void drain();
    },
    /** Answers all waiting writes with `message`. */
    refuse,
    /** Resolves once the queue is empty. */
    drained(): Promise<void> {
      if (!isCommitting && waiting.length === 0) return Promise.resolve();
      return new Promise((resolve) => {
        idle.push(resolve);
        void drain();
      });
    },
  };
}

function settled(requests: readonly WriteRequest[], message: string): SettledWrite[] {
  const result: WriteResult = { kind: 'unwritten', message };
  return requests.map(({ id }) => ({ id, result }));
}
