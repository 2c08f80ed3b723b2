/** What grows while its cost is watched: streams, idle connections, bytes of a body, machines. */
export type AxisName = 'streams' | 'idle' | 'bodies' | 'machines';

/** Whose cost it is; machines only a gateway knows. */
export type Measured = 'gateway' | 'bare';

/** The cost of one size. */
export interface Point {
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

export type Curves = Readonly<Partial<Record<Measured, readonly Point[]>>>;

/** What an axis is about. */
export interface Axis {
  readonly title: string;
  readonly sizes: readonly number[];
  readonly sizeName: string;
  readonly cpuName: string;
  /** Whether `cpu` is of one unit of work, and so stays level; else it is of all the work, which the size is. */
  readonly cpuPerUnit: boolean;
  /** What `cpu` may differ by without a reason. */
  readonly cpuNoise: number;
}

const KB = 1000;
const MB = 1_000_000;

export const AXES: Readonly<Record<AxisName, Axis>> = {
  streams: {
    title: 'Streams at once, 10,000 events a second in all',
    sizes: [1, 10, 100, 1000, 5000],
    sizeName: 'streams',
    cpuName: 'CPU µs per event',
    cpuPerUnit: true,
    cpuNoise: 0,
  },
  idle: {
    title: 'Idle connections',
    sizes: [1, 10, 100, 1000, 10_000],
    sizeName: 'connections',
    cpuName: 'CPU, % of a core',
    cpuPerUnit: false,
    cpuNoise: 1,
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
};

/** What one more costs, between the two greatest sizes and between the two before them. */
export interface UnitCost {
  readonly before: number;
  readonly last: number;
}

/** A step of ten in size makes n log n a third dearer, and n² ten times: between them lies what is noise. */
export const FASTER = 2;

/** Whether cost grows faster than its work: one more costs clearly more at the end than before. */
export function growsFaster(cost: UnitCost): boolean {
  return steepnessOf(cost) > FASTER;
}

/** One more at the end over one more before; 0 where one more costs nothing that can be told from noise. */
export function steepnessOf({ before, last }: UnitCost): number {
  return before > 0 && last > 0 ? last / before : 0;
}

/** Cost that is of one unit already. */
export function levelCost(costs: readonly number[]): UnitCost {
  return { before: costs.at(-2) ?? Number.NaN, last: costs.at(-1) ?? Number.NaN };
}

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

/** What one more costs of each. */
export interface UnitCosts {
  readonly cpu: UnitCost;
  /** In KB. */
  readonly memory: UnitCost;
}

export function unitCostsOf(axis: Axis, points: readonly Point[]): UnitCosts {
  const sizes = points.map(({ size }) => size);
  const cpu = points.map((point) => point.cpu);
  return {
    cpu: axis.cpuPerUnit ? levelCost(cpu) : risingCost(sizes, cpu, axis.cpuNoise),
    memory: risingCost(
      sizes,
      points.map(({ rssMb }) => rssMb * 1024),
      SPARE_KB,
    ),
  };
}
