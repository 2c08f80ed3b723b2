import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chance } from '../support/chance.ts';
import { createPostgres } from '../support/postgres-server.ts';
import { createGateway } from './gateways.ts';
import type { Fault, History } from './history.ts';
import {
  createLeaseJudge,
  idleSweepsMs,
  type LeaseRow,
  LOG_LEASES,
  readLeaseLog,
} from './lease-log.ts';
import { differences, newLedger } from './ledger.ts';
import { createLoad, type LoadCounts, type Watched } from './load.ts';
import { startFleet } from './machines.ts';

/** Three gateways as processes on a real PostgreSQL, machines and callers, to which things happen. */
export interface FaultArena {
  /** Plays a history under load and puts all right again; resolves with what was not as it must be. */
  play(history: History): Promise<readonly string[]>;
  counts(): LoadCounts & { readonly leases: number; readonly runs: number };
  close(): Promise<void>;
}

const GATEWAYS = 3;
const MACHINES = 8;
const WELL_MS = 40_000;
/** After the end of a lease, which comes 10 s after the last sign of its holder. */
const HANDOVER_MS = 5000;
const LOOK_MS = 100;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The gateways begin at the same moment, on a database in which nothing is. */
export async function openArena(seed: number, breathMs = 15): Promise<FaultArena> {
  const random = chance(seed);
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-faults-'));
  const postgres = createPostgres();
  await postgres.begin();
  const databaseUrl = await postgres.database();
  const names = Array.from({ length: GATEWAYS }, (_, at) => `gateway-${at}`);
  const gateways = await Promise.all(
    names.map((name) => createGateway(name, directory, databaseUrl)),
  );
  const watched: Watched[] = gateways.map((gateway) => ({
    gateway,
    troubles: 0,
    isTroubled: false,
    hasServed: false,
  }));
  // Mostly short, now and then longer than many a fault.
  const machines = await startFleet(MACHINES, () => (random() < 0.1 ? 3000 : 250 + random() * 300));
  const ledger = newLedger();
  const pulse = startPulse();
  const load = createLoad(watched, {
    machines,
    ledger,
    random: chance(seed),
    wasStarved: pulse.wasStarved,
    breathMs,
  });
  await Promise.all(gateways.map((gateway) => gateway.start()));
  await postgres.query(databaseUrl, LOG_LEASES);
  const leases = createLeases((text) => postgres.query(databaseUrl, text));
  const open = new Set<Fault>();

  function trouble(which: readonly Watched[], isTroubled: boolean): void {
    for (const each of which) {
      each.troubles += 1;
      each.isTroubled = isTroubled;
    }
  }

  async function begin(fault: Fault): Promise<void> {
    open.add(fault);
    const one = 'gateway' in fault ? watched[fault.gateway] : undefined;
    if (!isKill(fault)) trouble(one === undefined ? watched : [one], true);
    switch (fault.kind) {
      case 'database_killed':
        return postgres.kill();
      case 'database_stopped':
        return postgres.pause();
      case 'gateway_killed':
      case 'gateway_upgraded':
        return one?.gateway.kill();
      case 'way_cut':
        return one?.gateway.way.cut();
      case 'way_silent':
        return one?.gateway.way.silence();
    }
  }

  async function end(fault: Fault): Promise<void> {
    const one = 'gateway' in fault ? watched[fault.gateway] : undefined;
    if (fault.kind === 'database_killed') await postgres.start();
    else if (fault.kind === 'database_stopped') postgres.resume();
    else if (isKill(fault) && one !== undefined)
      await restart(one, fault.kind === 'gateway_upgraded');
    else one?.gateway.way.heal();
    open.delete(fault);
  }

  async function restart(one: Watched, isNext: boolean): Promise<void> {
    one.hasServed = false;
    // A gateway that starts knows nothing until the database has answered.
    trouble([one], true);
    await one.gateway.start({ isNext });
  }

  /** Resolves once every gateway is in the pool and serves; else with who is not. */
  async function well(): Promise<readonly string[]> {
    const endAt = performance.now() + WELL_MS;
    for (;;) {
      const pools = await Promise.all(gateways.map((gateway) => gateway.pool()));
      const isWell = (at: number) => pools[at]?.database === 'connected' && watched[at]?.hasServed;
      for (const [at, one] of watched.entries())
        if (pools[at]?.database === 'connected' && open.size === 0 && one.isTroubled)
          trouble([one], false);
      const left = gateways.filter((_, at) => !isWell(at));
      if (left.length === 0) return [];
      if (performance.now() > endAt)
        return left.map(
          (one) => `${one.name} is not well: ${JSON.stringify(pools[gateways.indexOf(one)])}`,
        );
      await pause(LOOK_MS);
    }
  }

  async function underLoad(
    work: () => Promise<void>,
    isPrompt: boolean,
  ): Promise<readonly string[]> {
    load.findings.length = 0;
    load.go();
    const before = await well();
    await work();
    const after = await well();
    await load.rest();
    const findings = [...before, ...after, ...load.findings];
    findings.push(...(await differences(gateways, ledger)));
    findings.push(...(await leases.findings(isPrompt)));
    for (const { inferences, agent } of machines) {
      if (inferences.overlaps > 0) findings.push(`${agent.id} was verified by two at once`);
      inferences.overlaps = 0;
    }
    for (const gateway of gateways)
      for (const line of gateway.logged('verification_broken')) findings.push(JSON.stringify(line));
    return findings;
  }

  return {
    play: (history) =>
      underLoad(async () => {
        await Promise.all(
          history.map(async (fault) => {
            await pause(fault.atMs);
            await begin(fault);
            await pause(fault.forMs);
            await end(fault);
          }),
        );
      }, history.every(isKill)),
    counts: () => ({
      ...load.counts,
      leases: leases.count(),
      runs: machines.reduce((sum, { inferences }) => sum + inferences.all, 0),
    }),
    async close() {
      await load.rest();
      pulse.stop();
      await Promise.all(gateways.map((gateway) => gateway.kill()));
      await Promise.all(gateways.map(({ way }) => way.close()));
      for (const machine of machines) machine.close();
      await postgres.end();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const isKill = ({ kind }: Fault) => kind === 'gateway_killed' || kind === 'gateway_upgraded';

const PULSE_MS = 100;
/** A process that is so late has competitors that no answer in 5 s can be expected beside. */
const STARVED_MS = 400;
const REMEMBERED_MS = 12_000;

/** Notices when this machine has no time for its processes. */
function startPulse() {
  let lastMs = performance.now();
  let starvedMs = -Infinity;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    if (nowMs - lastMs - PULSE_MS > STARVED_MS) starvedMs = nowMs;
    lastMs = nowMs;
  }, PULSE_MS);
  return {
    wasStarved: () => performance.now() - starvedMs < REMEMBERED_MS,
    stop: () => clearInterval(timer),
  };
}

/** Follows the log of leases. */
function createLeases(query: (text: string) => Promise<readonly unknown[]>) {
  const judge = createLeaseJudge();
  let last = 0;
  return {
    /** `isPrompt`: the database was there all the time, so that what a killed gateway had is soon another's. */
    async findings(isPrompt: boolean): Promise<readonly string[]> {
      const rows = (await query(readLeaseLog(last))) as readonly (LeaseRow & { id: number })[];
      last = rows.at(-1)?.id ?? last;
      const late = idleSweepsMs(rows).filter((ms) => isPrompt && ms > HANDOVER_MS);
      return [...judge(rows), ...late.map((ms) => `nobody watched for silence for ${ms} ms`)];
    },
    count: () => last,
  };
}
