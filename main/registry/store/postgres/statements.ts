import type { QueryResult, QueryResultRow } from 'pg';
import { eventsIn, providerOf, providerRow } from '../rows.ts';
import {
  EVENTS_KEPT,
  type ProviderPart,
  type SharedProvider,
  type StoreChange,
  type StoredEvent,
  type StoreRefusal,
} from '../store.ts';

/* What is sent to the database: a statement for each kind of change, and what is read. */

/** The gateway that writes: `run` is this run of it, `home` the same across runs. */
export interface WritingGateway {
  readonly run: string;
  readonly home: string;
}

/** A connection to the database, or several. */
export interface Queryable {
  query<Row extends QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>;
}

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** The write is refused if this changes no row; for a `sequence`, the last one is named. */
  readonly mustChange?: 'row' | 'sequence';
}

const GIVEN = 'json_populate_record(NULL::inglenook.providers, $1::json)';

const HEARD = `sequence = r.sequence, last_heartbeat_at = r.last_heartbeat_at, last_heartbeat_ip = r.last_heartbeat_ip,
  heartbeat_count = greatest(p.heartbeat_count + 1, r.heartbeat_count), record = r.record, heard_at = clock_timestamp()`;

/** A heartbeat is compared in the statement that writes it, so that no two gateways take the same one. */
const HEARTBEAT = (more: string) =>
  `UPDATE inglenook.providers p SET ${HEARD} ${more} FROM ${GIVEN} r WHERE p.id = r.id AND p.sequence < r.sequence`;

/** A change that needs a new verification outdates the one in progress, at whichever gateway. */
const RESET = 'verification = excluded.verification, has_changed = true';

const PROVIDER: Readonly<Record<ProviderPart, Omit<Statement, 'values'>>> = {
  heartbeat: { text: HEARTBEAT(''), mustChange: 'sequence' },
  changed: {
    text: HEARTBEAT(', verification = r.verification, has_changed = true'),
    mustChange: 'sequence',
  },
  verification: {
    text: `UPDATE inglenook.providers p SET verification = r.verification, verifier = NULL FROM ${GIVEN} r
    WHERE p.id = r.id AND p.verifier = $2 AND p.verifier_until > clock_timestamp() AND NOT p.has_changed`,
    mustChange: 'row',
  },
  note: {
    text: `UPDATE inglenook.providers p SET note = r.note FROM ${GIVEN} r WHERE p.id = r.id`,
  },
  enrolled: {
    text: `INSERT INTO inglenook.providers AS p SELECT * FROM ${GIVEN}
    ON CONFLICT (id) DO UPDATE SET token_salt = excluded.token_salt, home = NULL,
      sequence = greatest(p.sequence, excluded.sequence), ${RESET}`,
  },
  own: {
    text: `INSERT INTO inglenook.providers AS p SELECT * FROM ${GIVEN}
    ON CONFLICT (id) DO UPDATE SET token_salt = excluded.token_salt, sequence = excluded.sequence,
      last_heartbeat_at = excluded.last_heartbeat_at, last_heartbeat_ip = excluded.last_heartbeat_ip,
      heartbeat_count = excluded.heartbeat_count, record = excluded.record, home = excluded.home, ${RESET}`,
  },
};

function providerStatement(
  { provider, part }: Extract<StoreChange, { kind: 'provider' }>,
  { run, home }: WritingGateway,
): Statement {
  const row = JSON.stringify({ ...providerRow(provider), home: part === 'own' ? home : null });
  return { ...PROVIDER[part], values: part === 'verification' ? [row, run] : [row] };
}

/** Several gateways notice the silence of a machine: a status that repeats the last one is left out. */
const PUT_EVENT = `
INSERT INTO inglenook.events (provider_id, at, kind, text)
SELECT id, $2::bigint, $3::text, $4::text FROM inglenook.providers WHERE id = $1 AND ($3 <> 'status' OR $4 IS DISTINCT FROM
  (SELECT text FROM inglenook.events WHERE provider_id = $1 AND kind = 'status' ORDER BY id DESC LIMIT 1))`;

const DROP_OLD_EVENTS = `
DELETE FROM inglenook.events WHERE provider_id = $1 AND id <= (SELECT id FROM inglenook.events
  WHERE provider_id = $1 ORDER BY id DESC LIMIT 1 OFFSET ${EVENTS_KEPT})`;

/** Holds for an enrolment token that has not expired. */
const IS_OPEN = '(expires_at > extract(epoch FROM clock_timestamp()) * 1000)';

export function statementsOf(change: StoreChange, writer: WritingGateway): readonly Statement[] {
  switch (change.kind) {
    case 'provider':
      return [providerStatement(change, writer)];
    case 'provider_removed':
      return [{ text: 'DELETE FROM inglenook.providers WHERE id = $1', values: [change.id] }];
    case 'enrollment': {
      const { digest, expiresAt } = change.enrollment;
      const text = 'INSERT INTO inglenook.enrollments VALUES ($1, $2)';
      return [
        { text: `DELETE FROM inglenook.enrollments WHERE NOT ${IS_OPEN}`, values: [] },
        { text, values: [digest, expiresAt] },
      ];
    }
    case 'enrollment_used': {
      const text = `DELETE FROM inglenook.enrollments WHERE digest = $1 AND ${IS_OPEN}`;
      return [{ text, values: [change.digest], mustChange: 'row' }];
    }
    case 'event': {
      const { providerId, at, kind, text } = change.event;
      // PostgreSQL accepts no NUL in a text.
      const values = [providerId, at, kind, text.replaceAll('\0', '\uFFFD')];
      return [
        { text: PUT_EVENT, values },
        { text: DROP_OLD_EVENTS, values: [providerId] },
      ];
    }
  }
}

/** Runs statements until one conflicts with what another gateway has written; null if none does. */
export async function runAll(
  database: Queryable,
  statements: readonly Statement[],
): Promise<StoreRefusal | null> {
  for (const { text, values, mustChange } of statements) {
    const { rowCount } = await database.query(text, values);
    if (rowCount !== 0 || mustChange === undefined) continue;
    if (mustChange === 'row') return { kind: 'refused', last: null };
    const { rows } = await database.query<{ readonly last: number }>(
      "SELECT sequence::float8 AS last FROM inglenook.providers WHERE id = $1::json->>'id'",
      [values[0]],
    );
    return { kind: 'refused', last: rows[0]?.last ?? null };
  }
  return null;
}

/** Holds for the machines that a gateway sees: all but those that other gateways run on. */
const SEEN = '(home IS NULL OR home = $1)';

const PROVIDERS = `
SELECT id, public_key, token_salt, enrolled_at::float8, sequence::float8, last_heartbeat_at::float8, last_heartbeat_ip,
  heartbeat_count::float8, record, verification, note,
  greatest(0, extract(epoch FROM clock_timestamp() - heard_at)::float8 * 1000) AS age_ms
FROM inglenook.providers WHERE ${SEEN} AND id = ANY($2)`;

/** A row that cannot be read counts as missing. */
export async function readProviders(
  database: Queryable,
  home: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SharedProvider>> {
  const { rows } = await database.query<{ readonly age_ms: number | null }>(PROVIDERS, [home, ids]);
  const found = new Map<string, SharedProvider>();
  for (const row of rows) {
    const provider = providerOf(row);
    if (provider !== null) found.set(provider.id, { provider, ageMs: row.age_ms ?? 0 });
  }
  return found;
}

export async function readIds(database: Queryable, home: string): Promise<readonly string[]> {
  const { rows } = await database.query<{ readonly id: string }>(
    `SELECT id FROM inglenook.providers WHERE ${SEEN}`,
    [home],
  );
  return rows.map(({ id }) => id);
}

export async function readEvents(
  database: Queryable,
  providerId: string,
): Promise<readonly StoredEvent[]> {
  const { rows } = await database.query(
    `SELECT provider_id AS "providerId", at::float8, kind, text FROM inglenook.events WHERE provider_id = $1
     ORDER BY id DESC`,
    [providerId],
  );
  return eventsIn(rows);
}

export async function readLastEventAt(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ readonly at: number | null }>(
    'SELECT max(at)::float8 AS at FROM inglenook.events',
  );
  return rows[0]?.at ?? 0;
}

/** Whether the machine may be verified by `run` alone for `ms`. */
export async function takeLease(
  database: Queryable,
  id: string,
  { run, ms }: { readonly run: string; readonly ms: number },
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE inglenook.providers SET verifier = $2, verifier_until = clock_timestamp() + $3 * interval '1 ms',
       has_changed = false
     WHERE id = $1 AND (verifier IS NULL OR verifier_until < clock_timestamp())`,
    [id, run, ms],
  );
  return rowCount === 1;
}

export async function endLease(database: Queryable, id: string, run: string): Promise<void> {
  await database.query(
    'UPDATE inglenook.providers SET verifier = NULL WHERE id = $1 AND verifier = $2',
    [id, run],
  );
}
