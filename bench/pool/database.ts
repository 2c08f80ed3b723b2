/** The PostgreSQL of the pool's bench: a real one, which writes to disk as it would for anybody. */
import { silentLog } from '../../main/platform/log.ts';
import { openPool } from '../../main/pool/pool.ts';
import { createPostgres } from '../../test/support/postgres-server.ts';
import { cpuMs } from '../kit/proc.ts';
import { fill } from '../registry/fleet.ts';

/** What a database had done at one moment. */
interface DatabaseCounts {
  /** Transactions: each statement of ours is one, and so is each announcement that a gateway hears. */
  readonly statements: number;
  /** Of the log that it writes ahead. */
  readonly bytes: number;
  readonly cpuMs: number;
  readonly ticksMs: number;
}

/** What it did in a second, in between. */
export interface DatabaseLoad {
  readonly statements: number;
  readonly kilobytes: number;
  readonly cpuMs: number;
}

export interface PoolDatabase {
  /** A new database in which so many machines are known. */
  filled(machines: number): Promise<string>;
  counts(url: string): Promise<DatabaseCounts>;
  end(): Promise<void>;
}

const COUNTS = `SELECT (xact_commit + xact_rollback)::float8 AS statements,
  (pg_current_wal_lsn() - '0/0')::float8 AS bytes FROM pg_stat_database WHERE datname = current_database()`;

export async function startDatabase(): Promise<PoolDatabase> {
  // Its own housekeeping would fall on one setup and not on another.
  const postgres = createPostgres([
    'shared_buffers=256MB',
    'autovacuum=off',
    'checkpoint_timeout=1h',
  ]);
  await postgres.begin();
  let template: { readonly machines: number; readonly name: string } | null = null;
  const nameOf = (url: string) => new URL(url).pathname.slice(1);

  async function newTemplate(machines: number): Promise<string> {
    const url = await postgres.database();
    const gateway = { id: 'gw_bench', run: 'gw_bench', host: 'bench:0', version: '0' };
    const data = { url, shown: url, gateway, secretDigest: '' };
    const opened = await openPool(data, silentLog);
    if (opened.kind !== 'open') throw new Error(opened.message);
    await fill(opened.store, machines);
    await opened.store.close();
    // The gateways have a secret of their own, and this one never was.
    await postgres.query(url, 'UPDATE switchyard.pool SET secret_digest = NULL');
    await postgres.query(url, 'DELETE FROM switchyard.gateways');
    template = { machines, name: nameOf(url) };
    return template.name;
  }

  return {
    async filled(machines) {
      const name = template?.machines === machines ? template.name : await newTemplate(machines);
      const url = await postgres.database();
      const server = url.replace(/[^/]+$/, 'postgres');
      await postgres.query(server, `DROP DATABASE ${nameOf(url)}`);
      await postgres.query(server, `CREATE DATABASE ${nameOf(url)} TEMPLATE ${name}`);
      return url;
    },
    async counts(url) {
      const [row] = await postgres.query<{ readonly statements: number; readonly bytes: number }>(
        url,
        COUNTS,
      );
      if (row === undefined) throw new Error('the database does not count');
      const used = postgres.pids().reduce((sum, pid) => sum + cpuMsOf(pid), 0);
      return { ...row, cpuMs: used, ticksMs: performance.now() };
    },
    end: () => postgres.end(),
  };
}

/** The process of a connection that has just ended counts with the server's. */
function cpuMsOf(pid: number): number {
  try {
    return cpuMs(pid);
  } catch {
    return 0;
  }
}

export function loadBetween(before: DatabaseCounts, after: DatabaseCounts): DatabaseLoad {
  const seconds = (after.ticksMs - before.ticksMs) / 1000;
  return {
    statements: (after.statements - before.statements) / seconds,
    kilobytes: (after.bytes - before.bytes) / 1024 / seconds,
    cpuMs: (after.cpuMs - before.cpuMs) / seconds,
  };
}
