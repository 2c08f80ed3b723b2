/** Gateways on one database, under machines that report every 15 s, beside a gateway alone with its file. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readControlToken } from '../../main/platform/secrets.ts';
import { createAgent } from '../../test/registry/world.ts';
import {
  beat,
  createLedger,
  enrol,
  type LoadedMachine,
  shown,
} from '../../test/support/registry-load.ts';
import { type Children, terminate } from '../kit/children.ts';
import { quantile } from '../kit/numbers.ts';
import { type DatabaseLoad, loadBetween, type PoolDatabase, startDatabase } from './database.ts';
import { cpuMs } from '../kit/proc.ts';
import { askProbe, startProbedGateway } from '../kit/programs.ts';
import { pause, startFleet } from '../registry/registry.ts';
import { makeDatabase } from '../registry/fleet.ts';

/** What gateways cost that take the heartbeats of so many machines together. */
export interface PoolFigures {
  readonly machines: number;
  readonly gateways: number;
  /** Null if the gateway is alone with its file. */
  readonly database: DatabaseLoad | null;
  readonly heartbeatsPerS: number;
  readonly unanswered: number;
  /** Of all gateways together. */
  readonly cpuUsPerHeartbeat: number;
  /** Of the database. */
  readonly databaseUsPerHeartbeat: number;
  readonly ackP99Ms: number;
  /** Of the gateway where it is worst. */
  readonly loopP99Ms: number;
  /** From the answer to a heartbeat until another gateway shows it; null if there is none. */
  readonly lag: { readonly p50Ms: number; readonly p99Ms: number } | null;
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

/** One way to run them. */
interface Setup {
  readonly machines: number;
  readonly gateways: number;
  readonly isShared: boolean;
}

/** `only` is one number of machines, or empty for all. */
export async function benchPool(
  children: Children,
  only: string,
  say: (text: string) => void,
): Promise<readonly PoolFigures[]> {
  const sizes = only === '' ? SIZES : [Number(only)];
  const database = await startDatabase();
  const figures: PoolFigures[] = [];
  try {
    for (const machines of sizes) {
      for (const [gateways, isShared] of [
        [1, false],
        [1, true],
        [3, true],
      ] as const) {
        say(`${machines} machines, ${gateways} ${isShared ? 'on PostgreSQL' : 'with SQLite'}`);
        figures.push(await benchSetup({ machines, gateways, isShared }, children, database));
      }
    }
  } finally {
    await database.end();
  }
  return figures;
}

async function benchSetup(
  setup: Setup,
  children: Children,
  database: PoolDatabase,
): Promise<PoolFigures> {
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-bench-pool-'));
  try {
    return await measure(setup, { children, database, directory });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Edges {
  readonly children: Children;
  readonly database: PoolDatabase;
  readonly directory: string;
}

async function measure(
  { machines, gateways: count, isShared }: Setup,
  { children, database, directory }: Edges,
): Promise<PoolFigures> {
  const folders = Array.from({ length: count }, (_, at) => newFolder(join(directory, `${at}`)));
  const [first = ''] = folders;
  const url = isShared ? await database.filled(machines) : null;
  if (url === null) await makeDatabase(first, machines);
  const env = url === null ? {} : { SWITCHYARD_DATABASE_URL: url };
  const gateways = await Promise.all(
    folders.map((folder) => startProbedGateway(children, folder, env, 'any')),
  );
  const fleet = await startFleet(children, {
    ports: gateways.map(({ port }) => port),
    directory: first,
    machines,
    heartbeatMs: HEARTBEAT_MS,
    durationMs: WARM_UP_MS + WATCHED_MS + LAG_MS,
  });
  await pause(WARM_UP_MS);
  const looked = async () => ({
    cpuMs: gateways.reduce((sum, { child }) => sum + cpuMs(child.pid), 0),
    database: url === null ? null : await database.counts(url),
    delays: await Promise.all(gateways.map(askProbe)),
  });
  const before = await looked();
  await pause(WATCHED_MS);
  const after = await looked();
  const registries = gateways.map((gateway) => ({
    url: `http://127.0.0.1:${gateway.port}`,
    controlToken: readControlToken(gateway.dataDirectory) ?? '',
  }));
  const lags = count > 1 ? await lagsBetween(registries, LAG_MS) : [];
  const outcome = await fleet.outcome;
  await fleet.end();
  await Promise.all(gateways.map(({ child }) => terminate(child)));
  const heartbeatsPerS = (machines * 1000) / HEARTBEAT_MS;
  // Where they are too many for the two cores, those that were answered.
  const answeredPerS = (heartbeatsPerS * outcome.acknowledged) / outcome.sent;
  const heartbeats = (answeredPerS * WATCHED_MS) / 1000;
  const load =
    before.database === null || after.database === null
      ? null
      : loadBetween(before.database, after.database);
  return {
    machines,
    gateways: count,
    database: load,
    heartbeatsPerS,
    unanswered: outcome.sent - outcome.acknowledged,
    cpuUsPerHeartbeat: ((after.cpuMs - before.cpuMs) * 1000) / heartbeats,
    databaseUsPerHeartbeat: ((load?.cpuMs ?? 0) * 1000) / answeredPerS,
    ackP99Ms: outcome.ackP99Ms,
    loopP99Ms: Math.max(...after.delays.map(({ p99Ms }) => p99Ms)),
    lag: count > 1 ? { p50Ms: quantile(lags, 0.5), p99Ms: quantile(lags, 0.99) } : null,
  };
}

function newFolder(path: string): string {
  mkdirSync(path, { mode: 0o700 });
  // The gateways of a pool have the same.
  writeFileSync(join(path, 'gateway-secret'), `${SECRET}\n`, { mode: 0o600 });
  return path;
}

type At = Parameters<typeof beat>[0];

/** Machines of their own report to one gateway, and another one is asked until it knows. */
async function lagsBetween(
  gateways: readonly At[],
  durationMs: number,
): Promise<readonly number[]> {
  const [from, to] = gateways;
  if (from === undefined || to === undefined) return [];
  const ledger = createLedger();
  for (let n = 0; n < PROBES; n += 1)
    await enrol(from, ledger, createAgent({ now: () => Date.now() }));
  const endAt = performance.now() + durationMs;
  const lags: number[] = [];
  async function probe(machine: LoadedMachine): Promise<void> {
    while (performance.now() < endAt) lags.push(await lagOf(machine, from as At, to as At));
  }
  await Promise.all([...ledger.machines.values()].map(probe));
  return lags;
}

async function lagOf(machine: LoadedMachine, from: At, to: At): Promise<number> {
  await beat(from, machine);
  const answeredAt = performance.now();
  const seen = async () => (await shown(to, machine.agent.id))?.requests_served ?? 0;
  while ((await seen()) < machine.told) await pause(PROBE_MS);
  return performance.now() - answeredAt;
}
