import type { ClientBase } from 'pg';
import type { PoolMember } from './connection.ts';

/** On this the database announces what has changed. */
export const PROVIDERS_CHANNEL = 'inglenook_providers';

/**
 * The steps from an empty database to this version's schema, forward only. A released step is never changed; new ones
 * are added at the end.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE inglenook.providers (
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
     -- By the clock of the database, as those of the gateways differ.
     heard_at timestamptz,
     -- The gateway whose own machine it is; no other one sees it.
     home text,
     -- The run of a gateway that may verify it until then, and whether the machine has changed in the meantime.
     verifier text,
     verifier_until timestamptz,
     has_changed boolean
   );
   CREATE TABLE inglenook.enrollments (
     digest text PRIMARY KEY,
     expires_at bigint NOT NULL
   );
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
     json text NOT NULL
   );
   -- A gateway need not read its own heartbeats. All else is read by its writer too, because what it read while it wrote
   -- may have brought back the former state.
   CREATE FUNCTION inglenook.announce_provider() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE writer text := '';
   BEGIN
     IF TG_OP = 'UPDATE' THEN
       IF NEW.verification = OLD.verification AND NEW.token_salt = OLD.token_salt THEN
         writer := current_setting('application_name');
       END IF;
     END IF;
     PERFORM pg_notify('${PROVIDERS_CHANNEL}', coalesce(NEW.id, OLD.id) || ' ' || writer);
     RETURN NULL;
   END $$;
   CREATE TRIGGER announce
     AFTER INSERT OR DELETE OR UPDATE OF sequence, verification, token_salt ON inglenook.providers
     FOR EACH ROW EXECUTE FUNCTION inglenook.announce_provider();
   CREATE FUNCTION inglenook.announce_document() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('inglenook_documents', coalesce(NEW.name, OLD.name));
     RETURN NULL;
   END $$;
   CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON inglenook.documents
     FOR EACH ROW EXECUTE FUNCTION inglenook.announce_document();`,
  // Notes were documents. The only other one said when the registry was last alive, as the events do now.
  `ALTER TABLE inglenook.providers ADD COLUMN note text;
   UPDATE inglenook.providers SET note = (SELECT json FROM inglenook.documents WHERE name = 'note:' || providers.id);
   DROP TABLE inglenook.documents;
   DROP FUNCTION inglenook.announce_document;
   CREATE FUNCTION inglenook.announce_note() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('${PROVIDERS_CHANNEL}', NEW.id);
     RETURN NULL;
   END $$;
   CREATE TRIGGER announce_note AFTER UPDATE OF note ON inglenook.providers
     FOR EACH ROW EXECUTE FUNCTION inglenook.announce_note();`,
];

/** Any number that no other program uses. */
const LOCK = 7_919_004_201;

/** One row: the schema, and a digest that reveals a gateway with another secret. */
const FOUNDATION = `
CREATE SCHEMA inglenook;
CREATE TABLE inglenook.pool (version integer NOT NULL, secret_digest text);
INSERT INTO inglenook.pool VALUES (0, NULL)`;

interface PoolRow {
  readonly version: number;
  readonly secret_digest: string | null;
}

/**
 * Upgrades the schema in one transaction; one gateway at a time. A newer schema is left untouched, and so is the database
 * of gateways that have another secret: then returns why, for people.
 */
export async function migrate(
  client: ClientBase,
  member: Pick<PoolMember, 'secretDigest' | 'shown'>,
  migrations = MIGRATIONS,
): Promise<string | null> {
  await client.query(
    `BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(${LOCK})`,
  );
  const problem = await migrateLocked(client, member, migrations);
  await client.query(problem === null ? 'COMMIT' : 'ROLLBACK');
  return problem;
}

async function migrateLocked(
  client: ClientBase,
  { secretDigest, shown }: Pick<PoolMember, 'secretDigest' | 'shown'>,
  migrations: readonly string[],
): Promise<string | null> {
  // Looked for first, because a user who may write the tables need not be allowed to create them.
  const there = await client.query(`SELECT FROM pg_tables WHERE schemaname = 'inglenook'`);
  if (there.rowCount === 0) await client.query(FOUNDATION);
  const { rows } = await client.query<PoolRow>('SELECT version, secret_digest FROM inglenook.pool');
  const { version = 0, secret_digest: known = null } = rows[0] ?? {};
  if (version > migrations.length) {
    return (
      `The pool's database ${shown} was set up by a newer Inglenook (schema ${version}, this one knows ` +
      `${migrations.length}) and was left untouched: install the newer version.`
    );
  }
  if (known !== null && known !== secretDigest)
    return `The pool's database ${shown} belongs to gateways with another secret: copy the file gateway-secret from the data directory of one of them into that of this one, or give all of them one INGLENOOK_POOL_SECRET, and restart Inglenook.`;
  if (version === migrations.length) return null;
  for (const sql of migrations.slice(version)) await client.query(sql);
  await client.query('UPDATE inglenook.pool SET version = $1, secret_digest = $2', [
    migrations.length,
    secretDigest,
  ]);
  return null;
}
