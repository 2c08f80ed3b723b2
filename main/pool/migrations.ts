import { escapeLiteral } from 'pg';
import type { Connection } from './connection.ts';

/** One step of the schema. */
interface Migration {
  readonly sql: string;
  /**
   * The oldest schema whose programs can still use the database after this step. Gateways are updated one after
   * another, so a step must keep the version before it working.
   */
  readonly worksWith: number;
}

/**
 * The steps from an empty database to this version's schema, forward only. A released step is never changed; new ones
 * are added at the end.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    worksWith: 1,
    sql: `
CREATE TABLE inglenook.providers (
  id text PRIMARY KEY,
  public_key text NOT NULL,
  token_salt text NOT NULL,
  enrolled_at bigint NOT NULL,
  sequence bigint NOT NULL,
  last_heartbeat_at bigint,
  last_heartbeat_ip text NOT NULL,
  heartbeat_count bigint NOT NULL,
  record text,
  verification text NOT NULL,
  -- Rises with each enrolment and material change.
  generation bigint NOT NULL DEFAULT 0,
  -- Of the lease under which the verification was made.
  fence bigint NOT NULL DEFAULT 0,
  -- By the clock of the database, as those of the gateways differ.
  heard_at timestamptz,
  heard_by text,
  -- The gateway whose own machine it is; no other one sees it.
  home text,
  revision bigint NOT NULL
);
CREATE INDEX providers_revision ON inglenook.providers (revision);
CREATE TABLE inglenook.enrollments (
  digest text PRIMARY KEY,
  expires_at bigint NOT NULL,
  revision bigint NOT NULL
);
-- What was removed, for gateways that were away for a while.
CREATE TABLE inglenook.removals (
  kind text NOT NULL,
  id text NOT NULL,
  revision bigint NOT NULL,
  removed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX removals_revision ON inglenook.removals (revision);
CREATE TABLE inglenook.events (
  id bigserial PRIMARY KEY,
  provider_id text NOT NULL REFERENCES inglenook.providers (id) ON DELETE CASCADE,
  at bigint NOT NULL,
  kind text NOT NULL,
  text text NOT NULL
);
CREATE INDEX events_of_provider ON inglenook.events (provider_id, id);
CREATE TABLE inglenook.documents (
  name text PRIMARY KEY,
  json text NOT NULL,
  revision bigint NOT NULL
);
CREATE TABLE inglenook.leases (
  name text PRIMARY KEY,
  holder text NOT NULL,
  fence bigint NOT NULL,
  until timestamptz NOT NULL
);
CREATE TABLE inglenook.gateways (
  id text PRIMARY KEY,
  run text NOT NULL,
  host text NOT NULL,
  version text NOT NULL,
  revision bigint NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);`,
  },
  {
    worksWith: 1,
    sql: `
CREATE SEQUENCE inglenook.circuit_versions;
CREATE TABLE inglenook.circuits (
  name text PRIMARY KEY,
  version bigint NOT NULL,
  run text NOT NULL,
  state text NOT NULL,
  -- Times in the state are durations from here on, by the clock of the database.
  written_at timestamptz NOT NULL
);
CREATE INDEX circuits_version ON inglenook.circuits (version);
-- The next two hold nothing that outlives a few seconds.
CREATE UNLOGGED TABLE inglenook.in_flight (
  run text PRIMARY KEY,
  figures text NOT NULL,
  written_at timestamptz NOT NULL
);
CREATE UNLOGGED TABLE inglenook.probes (
  name text PRIMARY KEY,
  run text NOT NULL,
  until timestamptz NOT NULL,
  wanted_until timestamptz
);`,
  },
  {
    worksWith: 1,
    sql: `
ALTER TABLE inglenook.gateways
  ADD COLUMN machines bigint NOT NULL DEFAULT 0,
  ADD COLUMN in_flight bigint NOT NULL DEFAULT 0,
  ADD COLUMN requests bigint NOT NULL DEFAULT 0;`,
  },
  {
    worksWith: 1,
    sql: `
ALTER TABLE inglenook.gateways
  ADD COLUMN verified bigint NOT NULL DEFAULT 0,
  ADD COLUMN answers bigint NOT NULL DEFAULT 0,
  ADD COLUMN fallbacks bigint NOT NULL DEFAULT 0,
  ADD COLUMN tokens bigint NOT NULL DEFAULT 0;`,
  },
];

/** Any number that no other program uses. */
const LOCK = 7_919_004_201;

/** One row: the schema, the number of the last commit, and a digest that reveals a gateway with another secret. */
const FOUNDATION = `
SELECT pg_advisory_xact_lock(${LOCK});
CREATE SCHEMA IF NOT EXISTS inglenook;
CREATE TABLE IF NOT EXISTS inglenook.pool (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  schema_version integer NOT NULL DEFAULT 0,
  works_with integer NOT NULL DEFAULT 0,
  revision bigint NOT NULL DEFAULT 0,
  secret_digest text
);
INSERT INTO inglenook.pool DEFAULT VALUES ON CONFLICT DO NOTHING;`;

type MigrationResult =
  | { readonly kind: 'current' }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'other_secret' };

/**
 * Upgrades the schema in one transaction. A newer schema that this version cannot use is left untouched, and so is a pool
 * whose gateways have another secret. Each message is a transaction of its own, so that no gateway can stop in the middle
 * of one and block the others.
 */
export async function migrate(
  connection: Connection,
  migrations: readonly Migration[],
  secretDigest: string,
): Promise<MigrationResult> {
  if (!(await hasFoundation(connection))) await connection.run(FOUNDATION);
  for (;;) {
    const [pool] = await connection.query<PoolRow>(
      'SELECT schema_version, works_with, secret_digest FROM inglenook.pool',
    );
    const {
      schema_version: version = 0,
      works_with: worksWith = 0,
      secret_digest: known = null,
    } = pool ?? {};
    if (worksWith > migrations.length) return { kind: 'newer', version };
    if (known !== null && known !== secretDigest) return { kind: 'other_secret' };
    if (version >= migrations.length) return { kind: 'current' };
    await connection.run(stepsText(migrations, version, secretDigest));
  }
}

/**
 * The row of the pool is locked before any table, as a commit does, or the two could wait for each other. Nothing is done
 * where another gateway has made the steps in the meantime.
 */
const stepsText = (migrations: readonly Migration[], version: number, secretDigest: string) => `
DO $of_pool$ BEGIN
  PERFORM FROM inglenook.pool WHERE schema_version = ${version} FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  EXECUTE $of_steps$${migrations
    .slice(version)
    .map(({ sql }) => sql)
    .join(';')}$of_steps$;
  UPDATE inglenook.pool SET schema_version = ${migrations.length}, works_with = ${migrations.at(-1)?.worksWith ?? 0},
    secret_digest = ${escapeLiteral(secretDigest)};
END $of_pool$`;

interface PoolRow {
  readonly schema_version: number;
  readonly works_with: number;
  readonly secret_digest: string | null;
}

/** Checked first, because a user who may write the tables need not be allowed to create them. */
async function hasFoundation(connection: Connection): Promise<boolean> {
  const [row] = await connection.query<{ readonly there: boolean }>(
    `SELECT to_regclass('inglenook.pool') IS NOT NULL AS there`,
  );
  return row?.there ?? false;
}
