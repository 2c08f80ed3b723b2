import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chance } from '../support/chance.ts';
import { createPostgres } from '../support/postgres-server.ts';
import { createGateway, type LogLine, type PoolGateway } from './gateways.ts';
import type { Fault, History } from './history.ts';
import { createLeaseJudge, type LeaseRow, LOG_LEASES, readLeaseLog } from './lease-log.ts';
import { answerOf, askForHistory, differences, newLedger, remove } from './ledger.ts';
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
const LOOK_MS = 100;
/** The id of no machine: a gateway reads the database before it says so. */
const UNKNOWN = `prv_${'0'.repeat(32)}`;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The gateways begin at the same moment, on a database in which nothing is. */
export async function openArena(seed: number, breathMs = 15): Promise<FaultArena> {
  const random = chance(seed);
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-faults-'));
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
  const pulse = startPulse();
  const machines = await startFleet(MACHINES, {
    // Mostly short, now and then longer than many a fault.
    holdMs: () => (random() < 0.1 ? 3000 : 250 + random() * 300),
    wasStarved: pulse.wasStarved,
  });
  const ledger = newLedger();
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

  function trouble(which: readonly Watched[], isTroubled: boolean): void {
    for (const each of which) {
      each.troubles += 1;
      each.isTroubled = isTroubled;
    }
  }

  async function begin(fault: Fault): Promise<void> {
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
  }

  async function restart(one: Watched, isNext: boolean): Promise<void> {
    one.hasServed = false;
    // A gateway that starts knows nothing until the database has answered.
    trouble([one], true);
    await one.gateway.start({ isNext });
  }

  /** Resolves once both connections of a gateway have answered, or failed in, what they were asked until now. */
  async function answered(gateway: PoolGateway): Promise<void> {
    const { id } = machines[0]?.agent ?? { id: '' };
    await Promise.all([remove(gateway, UNKNOWN), askForHistory(gateway, id)].map(answerOf));
  }

  /** Resolves once every gateway is in the pool and serves; else with who is not. */
  async function well(): Promise<readonly string[]> {
    const endAt = performance.now() + WELL_MS;
    for (;;) {
      const troubled = watched.filter(({ isTroubled }) => isTroubled);
      await Promise.all(troubled.map(({ gateway }) => answered(gateway)));
      const pools = await Promise.all(gateways.map((gateway) => gateway.pool()));
      const isWell = (at: number) => pools[at]?.database === 'connected' && watched[at]?.hasServed;
      for (const [at, one] of watched.entries())
        if (pools[at]?.database === 'connected' && one.isTroubled) trouble([one], false);
      const left = gateways.filter((_, at) => !isWell(at));
      if (left.length === 0) return [];
      if (performance.now() > endAt)
        return left.map(
          (one) => `${one.name} is not well: ${JSON.stringify(pools[gateways.indexOf(one)])}`,
        );
      await pause(LOOK_MS);
    }
  }

  async function underLoad(work: () => Promise<void>): Promise<readonly string[]> {
    load.findings.length = 0;
    load.go();
    const before = await well();
    await work();
    const after = await well();
    await load.rest();
    const findings = [...before, ...after, ...load.findings];
    findings.push(...(await differences(gateways, ledger)));
    findings.push(...(await leases.findings()));
    for (const { inferences, agent } of machines) {
      if (inferences.overlaps > 0) findings.push(`${agent.id} was verified by two at once`);
      inferences.overlaps = 0;
    }
    for (const gateway of gateways)
      for (const line of gateway.logged('verification_broken', 'pool_away'))
        if (!isOfFault(line)) findings.push(JSON.stringify(line));
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
      }),
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

/**
 * A database that is killed, stopped or cut off has other errors than these: a transaction that was rolled back, a wrong
 * statement or value, an internal error (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
const isOfFault = ({ event, error }: LogLine) =>
  event === 'pool_away' && !/\((22|23|40|42|XX)\w{3}\)/.test(String(error));

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
  let [last, count] = [0, 0];
  return {
    async findings(): Promise<readonly string[]> {
      const rows = (await query(readLeaseLog(last))) as readonly (LeaseRow & { id: number })[];
      last = rows.at(-1)?.id ?? last;
      count += rows.filter(({ op }) => op !== 'REPORT').length;
      return judge(rows);
    },
    count: () => count,
  };
}
