/** Gateways on one PostgreSQL, under machines that report every 15 s, beside a gateway alone with its file. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { silentLog } from '../main/platform/log.ts';
import { readControlToken } from '../main/platform/secrets.ts';
import { openPool } from '../main/pool/pool.ts';
import { createAgent } from '../test/registry/world.ts';
import { createPostgres } from '../test/support/postgres-server.ts';
import {
  beat,
  createLedger,
  enrol,
  shown,
  type LoadedMachine,
  type Registry,
} from '../test/support/registry-load.ts';
import { terminate, type Children } from './kit/children.ts';
import { quantile } from './kit/numbers.ts';
import { cpuMs } from './kit/proc.ts';
import { askProbe, startGateway } from './kit/programs.ts';
import { fill, makeDatabase } from './registry/fleet.ts';
import { startFleet } from './registry/registry.ts';
import { bound, short, whole, type Bound, type Report } from './report.ts';

/** What gateways cost that take the heartbeats of so many machines together. */
interface PoolFigures {
  readonly machines: number;
  readonly gateways: number;
  /** What it does in a second; null if the gateway is alone with its file. */
  readonly database: {
    readonly statements: number;
    readonly kilobytes: number;
    readonly cpuMs: number;
  } | null;
  readonly heartbeatsPerS: number;
  readonly unanswered: number;
  /** Of all gateways together, and of the database. */
  readonly cpuUsPerHeartbeat: number;
  readonly databaseUsPerHeartbeat: number;
  readonly ackP99Ms: number;
  /** Of the gateway where it is worst. */
  readonly loopP99Ms: number;
  /** From the answer to a heartbeat until another gateway shows it; none for a single one. */
  readonly lagsMs: readonly number[];
}

const SIZES = [100, 1000, 10_000, 30_000];
const HEARTBEAT_MS = 15_000;
/** Until the code of a heartbeat is compiled, it costs a multiple. */
const WARM_UP_MS = 20_000;
const WATCHED_MS = 10_000;
const LAG_MS = 6000;
const PROBES = 2;
const PROBE_MS = 10;
const SECRET = 'b2'.repeat(32);

/** `only` is one number of machines, or empty for all. */
export async function pool(
  children: Children,
  directory: string,
  only: string,
  say: (text: string) => void,
): Promise<Report> {
  const database = await startDatabase();
  const all: PoolFigures[] = [];
  try {
    for (const machines of only === '' ? SIZES : [Number(only)]) {
      const ways = [
        [1, null],
        [1, database],
        [3, database],
      ] as const;
      for (const [gateways, shared] of ways) {
        say(
          `${machines} machines, ${gateways} ${shared === null ? 'with SQLite' : 'on PostgreSQL'}`,
        );
        const folder = mkdtempSync(join(directory, 'pool-'));
        all.push(await measure(children, folder, machines, gateways, shared));
      }
    }
  } finally {
    await database.end();
  }
  const toAlone = ({ machines, cpuUsPerHeartbeat }: PoolFigures) => {
    const alone = all.find((other) => other.machines === machines && other.database === null);
    return cpuUsPerHeartbeat / (alone?.cpuUsPerHeartbeat ?? Number.NaN);
  };
  return {
    intro: '',
    tables: [[COLUMNS, ...all.map((figures) => rowOf(figures, toAlone(figures)))]],
    notes: [],
    bounds: all
      .filter(({ machines, gateways }) => machines >= 10_000 && gateways > 1)
      .flatMap((figures) => boundsOf(figures, toAlone(figures))),
  };
}

const COLUMNS = [
  'machines',
  'gateways',
  'heartbeats/s',
  'unanswered',
  'CPU µs each',
  'to SQLite',
  'database µs each',
  'statements/s',
  'KB/s written',
  'answer p99 ms',
  'loop p99 ms',
  'lag p50/p99 ms',
];

function rowOf(figures: PoolFigures, toAlone: number): string[] {
  const { database, lagsMs } = figures;
  return [
    whole(figures.machines),
    database === null ? '1, SQLite' : `${figures.gateways}`,
    whole(figures.heartbeatsPerS),
    whole(figures.unanswered),
    whole(figures.cpuUsPerHeartbeat),
    `${toAlone.toFixed(2)}×`,
    database === null ? '' : whole(figures.databaseUsPerHeartbeat),
    database === null ? '' : whole(database.statements),
    database === null ? '' : whole(database.kilobytes),
    short(figures.ackP99Ms),
    short(figures.loopP99Ms),
    figures.gateways === 1
      ? ''
      : `${short(quantile(lagsMs, 0.5))} / ${short(quantile(lagsMs, 0.99))}`,
  ];
}

/** With thirty thousand machines two cores are full, and then each program waits for its turn. */
function boundsOf({ machines, gateways, ...figures }: PoolFigures, toAlone: number): Bound[] {
  const at = `${machines} machines, ${gateways} gateways`;
  const slack = machines > 10_000 ? 20 : 2;
  const ms = (what: string, measured: number, aim: number) =>
    bound(`${what}, ${at}`, ' ms', measured, slack * aim, aim);
  return [
    bound(`CPU to SQLite, ${at}`, '×', toAlone, 3, 1.5),
    ms('lag p99', quantile(figures.lagsMs, 0.99), 500),
    ms('event loop late, p99', figures.loopP99Ms, 20),
  ];
}

async function measure(
  children: Children,
  directory: string,
  machines: number,
  count: number,
  database: Database | null,
): Promise<PoolFigures> {
  const folders = Array.from({ length: count }, (_, at) => newFolder(join(directory, `${at}`)));
  const [first = ''] = folders;
  const url = database === null ? null : await database.filled(machines);
  if (url === null) await makeDatabase(first, machines);
  const env = url === null ? {} : { INGLENOOK_DATABASE_URL: url };
  const options = { place: 'any', isProbed: true } as const;
  const gateways = await Promise.all(
    folders.map((folder) => startGateway(children, folder, env, options)),
  );
  const fleet = await startFleet(children, {
    ports: gateways.map(({ port }) => port),
    directory: first,
    machines,
    heartbeatMs: HEARTBEAT_MS,
    durationMs: WARM_UP_MS + WATCHED_MS + LAG_MS,
  });
  await pause(WARM_UP_MS);
  const look = async () => ({
    atMs: performance.now(),
    cpuMs: gateways.reduce((sum, { child }) => sum + cpuMs(child.pid), 0),
    counts: database === null || url === null ? null : await database.counts(url),
    delays: await Promise.all(gateways.map(askProbe)),
  });
  const before = await look();
  await pause(WATCHED_MS);
  const after = await look();
  const registries = gateways.map((gateway) => ({
    url: `http://127.0.0.1:${gateway.port}`,
    controlToken: readControlToken(gateway.dataDirectory) ?? '',
  }));
  const lagsMs = await lagsBetween(registries);
  const { sent, acknowledged, ackP99Ms } = await fleet.outcome;
  await fleet.end();
  await Promise.all(gateways.map(({ child }) => terminate(child)));
  const heartbeatsPerS = (machines * 1000) / HEARTBEAT_MS;
  // Where they are too many for the two cores, those that were answered.
  const answeredPerS = (heartbeatsPerS * acknowledged) / sent;
  const seconds = (after.atMs - before.atMs) / 1000;
  const perS = (of: 'statements' | 'bytes' | 'cpuMs') =>
    ((after.counts?.[of] ?? 0) - (before.counts?.[of] ?? 0)) / seconds;
  return {
    machines,
    gateways: count,
    database:
      database === null
        ? null
        : { statements: perS('statements'), kilobytes: perS('bytes') / 1024, cpuMs: perS('cpuMs') },
    heartbeatsPerS,
    unanswered: sent - acknowledged,
    cpuUsPerHeartbeat: ((after.cpuMs - before.cpuMs) * 1e6) / (answeredPerS * WATCHED_MS),
    databaseUsPerHeartbeat: (perS('cpuMs') * 1000) / answeredPerS,
    ackP99Ms,
    loopP99Ms: Math.max(...after.delays.map(({ p99Ms }) => p99Ms)),
    lagsMs,
  };
}

function newFolder(path: string): string {
  mkdirSync(path, { mode: 0o700 });
  // The gateways of a pool have the same.
  writeFileSync(join(path, 'gateway-secret'), `${SECRET}\n`, { mode: 0o600 });
  return path;
}

/** Machines of their own report to one gateway, and another one is asked until it knows. */
async function lagsBetween([from, to]: readonly Registry[]): Promise<readonly number[]> {
  if (from === undefined || to === undefined) return [];
  const ledger = createLedger();
  for (let n = 0; n < PROBES; n += 1)
    await enrol(from, ledger, createAgent({ now: () => Date.now() }));
  const endAt = performance.now() + LAG_MS;
  const lags: number[] = [];
  const told = async ({ agent }: LoadedMachine) =>
    (await shown(to, agent.id))?.requests_served ?? 0;
  async function probe(machine: LoadedMachine): Promise<void> {
    while (performance.now() < endAt) {
      await beat(from as Registry, machine);
      const answeredAt = performance.now();
      while ((await told(machine)) < machine.told) await pause(PROBE_MS);
      lags.push(performance.now() - answeredAt);
    }
  }
  await Promise.all([...ledger.machines.values()].map(probe));
  return lags;
}

type Database = Awaited<ReturnType<typeof startDatabase>>;

/** Transactions, for each statement of ours is one and so is each announcement, and bytes of the log written ahead. */
const COUNTS = `SELECT (xact_commit + xact_rollback)::float8 AS statements,
  (pg_current_wal_lsn() - '0/0')::float8 AS bytes FROM pg_stat_database WHERE datname = current_database()`;

/** A real PostgreSQL, which writes to disk as it would for anybody. */
async function startDatabase() {
  // Its own housekeeping would fall on one setup and not on another.
  const postgres = createPostgres([
    'shared_buffers=256MB',
    'autovacuum=off',
    'checkpoint_timeout=1h',
  ]);
  await postgres.begin();
  const templates = new Map<number, string>();
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
    await postgres.query(url, 'UPDATE inglenook.pool SET secret_digest = NULL');
    await postgres.query(url, 'DELETE FROM inglenook.gateways');
    templates.set(machines, nameOf(url));
    return nameOf(url);
  }

  return {
    /** A new database in which so many machines are known. */
    async filled(machines: number): Promise<string> {
      const name = templates.get(machines) ?? (await newTemplate(machines));
      const url = await postgres.database();
      const server = url.replace(/[^/]+$/, 'postgres');
      await postgres.query(server, `DROP DATABASE ${nameOf(url)}`);
      await postgres.query(server, `CREATE DATABASE ${nameOf(url)} TEMPLATE ${name}`);
      return url;
    },
    async counts(url: string) {
      const [row] = await postgres.query<{ readonly statements: number; readonly bytes: number }>(
        url,
        COUNTS,
      );
      if (row === undefined) throw new Error('the database does not count');
      return { ...row, cpuMs: postgres.pids().reduce((sum, pid) => sum + cpuMsOf(pid), 0) };
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
