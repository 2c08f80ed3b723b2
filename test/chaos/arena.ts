import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RequestRow } from '#shared/live.ts';
import type { Log } from '../../main/platform/log.ts';
import { chance } from '../support/chance.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';
import { call } from './caller.ts';
import { SPELL_REQUESTS } from './faults.ts';
import { type ChaosGateway, GATEWAY_COUNT, startGateways } from './gateways.ts';
import { judge, type Received, type Verdict } from './judge.ts';
import { type ChaosRequest, requestOf } from './requests.ts';
import { type PlayedCall, startUpstreams, UPSTREAMS } from './upstreams.ts';

/** A request, and all that is known of it at its end. */
export interface Played extends Verdict {
  readonly request: ChaosRequest;
  /** Its name. */
  readonly gateway: string;
  readonly received: Received;
  readonly calls: readonly PlayedCall[];
  /** Null where the gateway has none. */
  readonly row: () => RequestRow | null;
}

/** Gateways in front of upstreams that are well only for a while. */
export interface ChaosArena {
  /** Plays the request of this number. */
  play(n: number): Promise<Played>;
  /** Resolves once nothing is left of all requests, or with what is left all the same. */
  rest(): Promise<readonly string[]>;
  /** The same after the end of the gateways. */
  close(): Promise<readonly string[]>;
}

export async function openArena(seed: number): Promise<ChaosArena> {
  const clock = createManualClock();
  const stopClock = run(clock);
  const bugs: string[] = [];
  const log: Log = (level, event, fields) => {
    if (level === 'error') bugs.push(`${event} ${JSON.stringify(fields)}`);
  };
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-chaos-'));
  const upstreams = await startUpstreams({ clock, gateways: GATEWAY_COUNT });
  const edges = { clock, log, random: chance(seed) };
  const gateways = await startGateways(upstreams, directory, edges);

  const left = () => [
    ...gateways.flatMap(leftIn),
    ...counted({ 'calls at upstreams': upstreams.open() }),
  ];

  return {
    async play(n) {
      const request = requestOf({ seed, n }, GATEWAY_COUNT);
      const gateway = gateways[request.gateway];
      if (gateway === undefined) throw new Error('no such gateway');
      // So that upstreams which are left alone for minutes are asked in their next spell.
      if (n % SPELL_REQUESTS === 0)
        for (const { host } of gateways) for (const id of UPSTREAMS) host.resetCircuit(id);
      const received = await call(gateway.url, request, clock);
      const calls = upstreams.callsOf(n);
      const verdict = judge(request, received, calls);
      const row = () => rowOf(gateway, received);
      return { ...verdict, request, gateway: gateway.name, received, calls, row };
    },
    async rest() {
      const found = await untilNothing(left);
      upstreams.forget();
      await passHour(clock);
      return [...found, ...bugs.splice(0)];
    },
    async close() {
      await Promise.all(gateways.map(({ host }) => host.stop(0)));
      const found = await untilNothing(() =>
        counted({ connections: upstreams.connections(), timers: clock.pending() }),
      );
      stopClock();
      await upstreams.close();
      rmSync(directory, { recursive: true, force: true });
      return [...found, ...bugs];
    },
  };
}

/** What a gateway has not ended. */
function leftIn({ name, host }: ChaosGateway): string[] {
  const { inFlight, requests, status } = host.snapshot();
  const { running } = status.admission;
  const found = counted({
    calls: Object.values(inFlight).reduce((sum, count) => sum + count, 0),
    'rows that run': requests.filter(({ state }) => state === 'running').length,
    'admitted requests': running,
  });
  return found.map((what) => `${what} in the gateway "${name}"`);
}

/** What there is any of. */
function counted(counts: Readonly<Record<string, number>>): string[] {
  return Object.entries(counts).flatMap(([what, count]) =>
    count === 0 ? [] : [`${count} ${what}`],
  );
}

function rowOf({ host }: ChaosGateway, { head }: Received): RequestRow | null {
  const id = head?.headers['x-gateway-request-id'];
  return host.snapshot().requests.find((row) => row.id === id) ?? null;
}

/** What is waited for takes a hundred turns of the event loop, in which a few hops of loopback have their time. */
const STEP_MS = 10;

/** Time goes on only when this process gets to work: nobody is late because the machine is busy. */
function run(clock: ManualClock): () => void {
  const timer = setInterval(() => clock.advance(STEP_MS), 1);
  return () => clearInterval(timer);
}

/** Upstreams that refused to continue an answer are asked again after that. */
async function passHour(clock: ManualClock): Promise<void> {
  for (let minute = 0; minute < 60; minute += 1) {
    clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** In each of which the clock goes on. */
const LOOKS = 3000;

async function untilNothing(left: () => readonly string[]): Promise<readonly string[]> {
  let found = left();
  for (let look = 0; look < LOOKS && found.length > 0; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    found = left();
  }
  return found;
}
