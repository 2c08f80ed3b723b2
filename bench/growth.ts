/** How cost grows with what there is to do: CPU time, memory and event loop delay, beside *bare* where it can. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { terminate, type Children } from './kit/children.ts';
import { rssMb, threadsCpuMs } from './kit/proc.ts';
import {
  askProbe,
  passingFrom,
  startGateway,
  startBare,
  startUpstream,
  type Program,
} from './kit/programs.ts';
import { askHealth, connect, type Connection } from './load/exchange.ts';
import { cpuUsPer, startLoader, type Load, type Loader } from './load/loader.ts';
import { TOKENS } from './load/wires.ts';
import { measureRegistry } from './registry/registry.ts';
import { bound, short, whole, type Bound, type Report, type Rows } from './report.ts';

/** The cost of one size. */
interface Point {
  /** How many, or how many bytes. */
  readonly size: number;
  /** In the unit of its axis. */
  readonly cpu: number;
  /** The most that was seen. */
  readonly rssMb: number;
  /** How late the event loop was, slowest hundredth and worst. */
  readonly lateP99Ms: number;
  readonly lateMostMs: number;
}

/** What grows while its cost is watched. */
interface Axis {
  readonly title: string;
  readonly sizes: readonly number[];
  readonly sizeName: string;
  readonly cpuName: string;
  /** Whether `cpu` is of one unit of work, and so stays level; else it is of all the work, which the size is. */
  readonly cpuPerUnit: boolean;
  /** What `cpu` may differ by without a reason. */
  readonly cpuNoise: number;
  /** KB for one more, where that is of interest. */
  readonly unitKb?: { readonly most: number; readonly aim: number };
}

const KB = 1000;
const MB = 1_000_000;

const AXES = {
  streams: {
    title: 'Streams at once, 10,000 events a second in all',
    sizes: [1, 10, 100, 1000, 5000],
    sizeName: 'streams',
    cpuName: 'CPU µs per event',
    cpuPerUnit: true,
    cpuNoise: 0,
    unitKb: { most: 80, aim: 16 },
  },
  idle: {
    title: 'Idle connections',
    sizes: [1, 10, 100, 1000, 10_000],
    sizeName: 'connections',
    cpuName: 'CPU, % of a core',
    cpuPerUnit: false,
    cpuNoise: 1,
    unitKb: { most: 20, aim: 10 },
  },
  bodies: {
    title: 'Body of a request',
    sizes: [KB, 10 * KB, 100 * KB, MB, 5 * MB, 20 * MB],
    sizeName: 'bytes',
    cpuName: 'CPU ms per request',
    cpuPerUnit: false,
    cpuNoise: 0.05,
  },
  machines: {
    title: 'Machines, each with a heartbeat every 15 s',
    sizes: [1, 10, 100, 1000, 10_000],
    sizeName: 'machines',
    cpuName: 'CPU, % of a core',
    cpuPerUnit: false,
    cpuNoise: 1,
  },
} as const satisfies Readonly<Record<string, Axis>>;
type AxisName = keyof typeof AXES;

/** Machines only a gateway knows. */
type Curves = Readonly<Partial<Record<'gateway' | 'bare', readonly Point[]>>>;

/** Memory, event loop and CPU time of a program while `work` is under way. */
async function watch<T>(program: Program, work: Promise<T>) {
  const { pid } = program.child;
  await askProbe(program);
  const [cpuBefore, begunAt] = [threadsCpuMs(pid), performance.now()];
  let most = 0;
  const look = () => (most = Math.max(most, rssMb(pid)));
  const looking = setInterval(look, 50);
  try {
    const result = await work;
    const [cpuMs, ms] = [threadsCpuMs(pid) - cpuBefore, performance.now() - begunAt];
    const { p99Ms, mostMs } = await askProbe(program);
    look();
    return { result, cpuMs, ms, seen: { rssMb: most, lateP99Ms: p99Ms, lateMostMs: mostMs } };
  } finally {
    clearInterval(looking);
  }
}

/** Measures one size on a program that has seen the smaller ones. */
type Measure = (program: Program, load: Loader, size: number) => Promise<Point>;

/** All streams together, so that their number alone is what grows. */
const EVENTS_PER_SECOND = 10_000;
/** A timer's shortest; a single stream brings no more events. */
const SHORTEST_PACE_MS = 1;
/** Streams follow each other for this long at least. */
const STREAMING_MS = 5000;

const measureStreams: Measure = async (program, load, size) => {
  const paceMs = Math.max(SHORTEST_PACE_MS, Math.round((1000 * size) / EVENTS_PER_SECOND));
  const streamMs = paceMs * TOKENS;
  const streams: Load = {
    kind: 'stream',
    connections: size,
    paceMs,
    // All overlap in the end; a busy gateway that meets a thousand new connections at once closes some of them.
    spreadMs: 0.75 * streamMs,
    requestsEach: Math.ceil(STREAMING_MS / streamMs),
    // However little of the machine it gets.
    ms: 240_000,
  };
  const { result, seen } = await watch(program, load('growth', program, streams));
  return { size, cpu: cpuUsPer('events', result), ...seen };
};

const measureBodies: Measure = async (program, load, size) => {
  const bodies: Load = {
    kind: 'plain',
    bodyBytes: size,
    connections: 1,
    spreadMs: 0,
    requestsEach: 1_000_000,
    ms: 2500,
  };
  const { result, seen } = await watch(program, load('growth', program, bodies));
  return { size, cpu: cpuUsPer('requests', result) / 1000, ...seen };
};

/** Opened at a time: more would overflow the queue of the listening socket. */
const BATCH = 250;

const measureIdle: Measure = async (program, _load, size) => {
  const connections: Connection[] = [];
  while (connections.length < size) {
    const batch = Array.from({ length: Math.min(BATCH, size - connections.length) }, () =>
      connect(program.port),
    );
    // Each has had one answer: a connection that never asked holds less.
    await Promise.all(batch.map(askHealth));
    connections.push(...batch);
  }
  // What opening them left to be done is over.
  await pause(1000);
  const { cpuMs, ms, seen } = await watch(program, pause(3000));
  for (const connection of connections) connection.close();
  return { size, cpu: (100 * cpuMs) / ms, ...seen };
};

const MEASURES = { streams: measureStreams, idle: measureIdle, bodies: measureBodies } as const;

/** Programs of their own for each axis: what one has grown to would hide the growth of the next. */
async function growRelay(
  name: keyof typeof MEASURES,
  children: Children,
  directory: string,
  upstreamPort: number,
  load: Loader,
): Promise<Curves> {
  const programs = {
    bare: await startBare(children, upstreamPort, true),
    gateway: await startGateway(
      children,
      directory,
      {
        ...passingFrom(upstreamPort),
        // A busy machine may make every stream late, and none of them is to be asked for twice.
        INGLENOOK_HEDGE: 'off',
        INGLENOOK_TTFT_THRESHOLD_MS: '60000',
      },
      { isProbed: true },
    ),
  };
  const curves = { bare: [] as Point[], gateway: [] as Point[] };
  for (const measured of ['bare', 'gateway'] as const) {
    const program = programs[measured];
    // The compiler has seen the code, and the nursery has its size: neither is part of the growth.
    const warmUp = { connections: 32, spreadMs: 0, requestsEach: 10_000, ms: 3000 };
    await load('warm-up', program, { ...warmUp, kind: 'plain' });
    await load('warm-up', program, { ...warmUp, kind: 'stream', paceMs: 2 });
    for (const size of AXES[name].sizes)
      curves[measured].push(await MEASURES[name](program, load, size));
    await terminate(program.child);
  }
  return curves;
}

async function growMachines(children: Children, directory: string): Promise<Curves> {
  const gateway: Point[] = [];
  for (const size of AXES.machines.sizes) {
    const { cpuPercent, loadedRssMb, delay } = await measureRegistry(
      children,
      `${directory}-${size}`,
      { machines: size, warmUpMs: 2000, aloneMs: 4000, watchedMs: 4000 },
    );
    const late = { lateP99Ms: delay.p99Ms, lateMostMs: delay.mostMs };
    gateway.push({ size, cpu: cpuPercent, rssMb: loadedRssMb, ...late });
  }
  return { gateway };
}

/** Runs the axis `only`, or all of them where it names none. */
export async function growth(
  children: Children,
  directory: string,
  only: string,
  say: (text: string) => void,
): Promise<Report> {
  const names = Object.keys(AXES) as AxisName[];
  const chosen = names.filter((name) => only === '' || only === name);
  if (chosen.length === 0) throw new Error(`${only} is none of ${names.join(' ')}`);
  const curves: Partial<Record<AxisName, Curves>> = {};
  const upstreamPort = await startUpstream(children, SHORTEST_PACE_MS);
  const load = await startLoader(children);
  for (const name of chosen) {
    say(`${AXES[name].title} …`);
    const folder = join(directory, name);
    curves[name] =
      name === 'machines'
        ? await growMachines(children, folder)
        : await growRelay(name, children, folder, upstreamPort, load);
  }
  const measured = chosen.flatMap((name) =>
    Object.entries(curves[name] ?? {}).map(([who, points]) => ({ axis: AXES[name], who, points })),
  );
  return {
    intro: measured
      .map(({ axis, who, points }) => `${axis.title}, ${who}: ${steps(axis, points)}`)
      .join('\n'),
    tables: measured.map(({ axis, who, points }) => tableOf(axis, who, points)),
    notes: [],
    bounds: measured
      .filter(({ who }) => who === 'gateway')
      .flatMap(({ axis, points }) => boundsOf(axis, points)),
  };
}

/** What one more costs, between the two greatest sizes and between the two before them. */
interface UnitCost {
  readonly before: number;
  readonly last: number;
}

/** A step of ten in size makes n log n a third dearer, and n² ten times: between them lies what is noise. */
const FASTER = 2;

/** One more at the end over one more before; 0 where one more costs nothing that can be told from noise. */
const steepnessOf = ({ before, last }: UnitCost) => (before > 0 && last > 0 ? last / before : 0);

/** Whether cost grows faster than its work: one more costs clearly more at the end than before. */
export const growsFaster = (cost: UnitCost): boolean => steepnessOf(cost) > FASTER;

/** Cost that is of one unit already. */
export const levelCost = (costs: readonly number[]): UnitCost => ({
  before: costs.at(-2) ?? Number.NaN,
  last: costs.at(-1) ?? Number.NaN,
});

/**
 * Cost of all the work, that of doing nothing included, which falls out between two sizes. A rise of less than
 * `noise` says nothing.
 */
export function risingCost(
  sizes: readonly number[],
  costs: readonly number[],
  noise: number,
): UnitCost {
  const slope = (from: number, to: number) => {
    const rise = (costs.at(to) ?? Number.NaN) - (costs.at(from) ?? Number.NaN);
    if (rise < noise) return 0;
    return rise / ((sizes.at(to) ?? Number.NaN) - (sizes.at(from) ?? Number.NaN));
  };
  return { before: slope(-3, -2), last: slope(-2, -1) };
}

/** A heap has some room to spare, which the first of many take. */
const SPARE_KB = 16 * 1024;

/** What one more costs of CPU, in the unit of its axis, and of memory in KB. */
function unitCostsOf({ cpuPerUnit, cpuNoise }: Axis, points: readonly Point[]) {
  const sizes = points.map(({ size }) => size);
  const cpu = points.map((point) => point.cpu);
  const kb = points.map((point) => point.rssMb * 1024);
  return {
    cpu: cpuPerUnit ? levelCost(cpu) : risingCost(sizes, cpu, cpuNoise),
    memory: risingCost(sizes, kb, SPARE_KB),
  };
}

function boundsOf(axis: Axis, points: readonly Point[]): Bound[] {
  const { title, sizeName, unitKb } = axis;
  const { cpu, memory } = unitCostsOf(axis, points);
  const steeper = (what: string, cost: UnitCost) =>
    bound(
      `${what} of one more of the greatest ${sizeName}, to one before`,
      '×',
      steepnessOf(cost),
      3,
      FASTER,
    );
  return [
    steeper('CPU', cpu),
    steeper('memory', memory),
    bound(`RSS at the greatest: ${title}`, ' MB', points.at(-1)?.rssMb ?? Number.NaN, 1000),
    ...(unitKb === undefined
      ? []
      : [bound(`memory for one of the ${sizeName}`, ' KB', memory.last, unitKb.most, unitKb.aim)]),
  ];
}

const tableOf = ({ sizeName, cpuName }: Axis, who: string, points: readonly Point[]): Rows => [
  [`${who}, ${sizeName}`, cpuName, 'RSS, MB', 'late p99, ms', 'late most, ms'],
  ...points.map((point) => [
    point.size.toLocaleString('en'),
    point.cpu.toPrecision(3),
    whole(point.rssMb),
    short(point.lateP99Ms),
    short(point.lateMostMs),
  ]),
];

/** What the curves say of one more. */
function steps(axis: Axis, points: readonly Point[]): string {
  const { cpu, memory } = unitCostsOf(axis, points);
  const text = ({ before, last }: UnitCost, scale: number) =>
    `${(before * scale).toPrecision(3)}, then ${(last * scale).toPrecision(3)}`;
  const cpuText = axis.cpuPerUnit
    ? `${axis.cpuName} ${text(cpu, 1)}`
    : `${axis.cpuName} for 1,000 more ${text(cpu, 1000)}`;
  const isFaster = growsFaster(cpu) || growsFaster(memory);
  const word = isFaster ? '; GROWS FASTER THAN ITS WORK' : '';
  return `${cpuText}; KB of memory for one more ${text(memory, 1)}${word}`;
}
