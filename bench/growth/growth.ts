/** How cost grows with what there is to do: CPU time, memory and event loop delay, beside *bare* where it can. */
import { join } from 'node:path';
import { terminate, type Children } from '../kit/children.ts';
import {
  startProbedGateway,
  startProbedProxy,
  startUpstream,
  type Probed,
  type Program,
} from '../kit/programs.ts';
import { benchRegistry } from '../registry/registry.ts';
import { connect, type Connection } from '../traffic/client.ts';
import type { Job } from '../traffic/load.ts';
import { startLoader, type Loader } from '../traffic/loader.ts';
import { TOKENS } from '../traffic/traffic.ts';
import { AXES, type AxisName, type Curves, type Measured, type Point } from './axis.ts';
import { watch } from './watch.ts';

/** The curves of each axis that was measured. */
export type GrowthFigures = Readonly<Partial<Record<AxisName, Curves>>>;

/** Measures one size on a program that has seen the smaller ones. */
type Measure = (program: Probed<Program>, loader: Loader, size: number) => Promise<Point>;

/** All streams together, so that their number alone is what grows. */
const EVENTS_PER_SECOND = 10_000;
/** A timer's shortest; a single stream brings no more events. */
const SHORTEST_PACE_MS = 1;
/** Streams follow each other for this long at least. */
const STREAMING_MS = 5000;
/** No job takes longer, however little of the machine it gets. */
const PATIENCE_MS = 240_000;

const measureStreams: Measure = async (program, loader, size) => {
  const paceMs = Math.max(SHORTEST_PACE_MS, Math.round((1000 * size) / EVENTS_PER_SECOND));
  const streamMs = paceMs * TOKENS;
  const job: Job = {
    kind: 'stream',
    port: program.port,
    pid: program.child.pid,
    connections: size,
    paceMs,
    // They overlap for most of their time, and do not all begin in one turn of the loop.
    spreadMs: streamMs / 4,
    requestsEach: Math.ceil(STREAMING_MS / streamMs),
    ms: PATIENCE_MS,
  };
  const { result, seen } = await watch(program, loader.run('growth', job));
  return { size, cpu: (1000 * (result.cpuMs ?? Number.NaN)) / result.events, ...seen };
};

const BODIES_MS = 2500;

const measureBodies: Measure = async (program, loader, size) => {
  const job: Job = {
    kind: 'plain',
    port: program.port,
    pid: program.child.pid,
    bodyBytes: size,
    connections: 1,
    spreadMs: 0,
    requestsEach: 1_000_000,
    ms: BODIES_MS,
  };
  const { result, seen } = await watch(program, loader.run('growth', job));
  return { size, cpu: (result.cpuMs ?? Number.NaN) / result.requests, ...seen };
};

/** Opened at a time: more would overflow the queue of the listening socket. */
const BATCH = 250;
/** What opening them left to be done is over. */
const SETTLE_MS = 1000;
const IDLE_MS = 3000;

/** Each has had one answer: a connection that never asked holds less. */
async function openIdle(port: number, count: number): Promise<Connection[]> {
  const request = Buffer.from(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  const open = async () => {
    const connection = await connect(port);
    await connection.ask(request, { onStatus() {}, onBody() {} });
    return connection;
  };
  const connections: Connection[] = [];
  while (connections.length < count) {
    const size = Math.min(BATCH, count - connections.length);
    connections.push(...(await Promise.all(Array.from({ length: size }, open))));
  }
  return connections;
}

const measureIdle: Measure = async (program, _loader, size) => {
  const connections = await openIdle(program.port, size);
  await pause(SETTLE_MS);
  const { cpuMs, ms, seen } = await watch(program, pause(IDLE_MS));
  for (const connection of connections) connection.close();
  return { size, cpu: (100 * cpuMs) / ms, ...seen };
};

const MEASURES: Readonly<Record<Exclude<AxisName, 'machines'>, Measure>> = {
  streams: measureStreams,
  idle: measureIdle,
  bodies: measureBodies,
};

/** Runs the axis `only`, or all of them where it names none. */
export async function growth(
  children: Children,
  directory: string,
  only: string,
  say: (text: string) => void,
): Promise<GrowthFigures> {
  if (only !== '' && !(only in AXES)) {
    throw new Error(`${only} is none of ${Object.keys(AXES).join(' ')}`);
  }
  const figures: Partial<Record<AxisName, Curves>> = {};
  const upstreamPort = await startUpstream(children, SHORTEST_PACE_MS);
  const loader = await startLoader(children);
  for (const name of Object.keys(AXES) as AxisName[]) {
    if (only !== '' && only !== name) continue;
    say(`${AXES[name].title} …`);
    figures[name] =
      name === 'machines'
        ? { gateway: await growMachines(children, join(directory, name)) }
        : await growRelay(name, {
            children,
            directory: join(directory, name),
            upstreamPort,
            loader,
          });
  }
  return figures;
}

interface Surroundings {
  readonly children: Children;
  readonly directory: string;
  readonly upstreamPort: number;
  readonly loader: Loader;
}

/** Programs of their own for each axis: what one has grown to would hide the growth of the next. */
async function growRelay(
  name: Exclude<AxisName, 'machines'>,
  { children, directory, upstreamPort, loader }: Surroundings,
): Promise<Curves> {
  const programs: Readonly<Record<Measured, Probed<Program>>> = {
    bare: await startProbedProxy(children, upstreamPort),
    gateway: await startProbedGateway(children, directory, {
      SWITCHYARD_HOSTED_A_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
      SWITCHYARD_HOSTED_A_ASSEMBLE: 'false',
      // A busy machine may make every stream late, and none of them is to be asked for twice.
      SWITCHYARD_HEDGE: 'off',
      SWITCHYARD_TTFT_THRESHOLD_MS: '60000',
    }),
  };
  const curves: Record<Measured, Point[]> = { bare: [], gateway: [] };
  for (const measured of ['bare', 'gateway'] as const) {
    await warmUp(programs[measured], loader);
    for (const size of AXES[name].sizes) {
      curves[measured].push(await MEASURES[name](programs[measured], loader, size));
    }
    await terminate(programs[measured].child);
  }
  return curves;
}

const WARM_UP_MS = 3000;

/** The compiler has seen the code, and the nursery has its size: neither is part of the growth. */
async function warmUp({ port, child: { pid } }: Program, loader: Loader): Promise<void> {
  const job = { port, pid, connections: 32, spreadMs: 0, requestsEach: 10_000 };
  await loader.run('warm-up', { ...job, kind: 'plain', ms: WARM_UP_MS });
  await loader.run('warm-up', { ...job, kind: 'stream', paceMs: 2, ms: WARM_UP_MS });
}

async function growMachines(children: Children, directory: string): Promise<readonly Point[]> {
  const points: Point[] = [];
  for (const size of AXES.machines.sizes) {
    const figures = await benchRegistry(children, `${directory}-${size}`, {
      machines: size,
      warmUpMs: 2000,
      aloneMs: 4000,
      watchedMs: 4000,
    });
    points.push({
      size,
      cpu: figures.cpuPercent,
      rssMb: figures.loadedRssMb,
      lateP99Ms: figures.delay.p99Ms,
      lateMostMs: figures.delay.mostMs,
    });
  }
  return points;
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
