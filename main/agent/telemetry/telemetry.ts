import { cpus, freemem, hostname, totalmem } from 'node:os';
import type { Clock } from '../../platform/clock.ts';
import type { GpuReading, Problem } from './gpu-device.ts';
import { allGpus, gpuCollectors } from './gpus.ts';
import { type AskFacts, createAskFacts, type MachineFacts, readFacts } from './machine-facts.ts';
import { createKernelFiles, type KernelFiles } from './sysfs.ts';
import { createTailnetWatch, type Tailnet } from './tailnet.ts';
import { createStartTool, type StartTool, type ToolWorld } from './tool-process.ts';

/** A snapshot of this machine. */
export interface Telemetry {
  readonly gpus: GpuReading;
  readonly cores: CpuCores;
  readonly machineModel: string | null;
  readonly hostname: string;
  readonly platform: string;
  /** Bytes. */
  readonly memoryBytes: number;
  readonly availableBytes: number;
  readonly tailnet: Tailnet | null;
  readonly problems: readonly Problem[];
}

/** Reads this machine in the background. */
export interface TelemetryWatch {
  start(): void;
  /** Returns at once. */
  read(): Telemetry;
  stop(): Promise<void>;
}

interface TelemetryOptions extends ToolWorld {
  readonly clock: Clock;
  /** Root of the kernel's file tree; other than `/` only in tests. */
  readonly root?: string;
  readonly intervalMs?: number;
  /** For tests. */
  readonly startTool?: StartTool;
  readonly askFacts?: AskFacts;
}

/** Three readings per heartbeat. */
const INTERVAL_MS = 5000;

const NO_FACTS: MachineFacts = {
  machineModel: null,
  performanceCores: null,
  efficiencyCores: null,
  cards: [],
};

export function createTelemetry(options: TelemetryOptions): TelemetryWatch {
  const { clock, platform } = options;
  const files = createKernelFiles(options.root ?? '/');
  const edges = {
    clock,
    platform,
    files,
    startTool: options.startTool ?? createStartTool(options),
  };
  const gpus = allGpus(gpuCollectors(edges, options.intervalMs ?? INTERVAL_MS));
  const tailnet = createTailnetWatch(edges);
  const ask = options.askFacts ?? createAskFacts(options);
  let facts = NO_FACTS;
  let factsProblem: Problem | null = null;
  let hybrid: CpuCores | null = null;
  const stopping = new AbortController();
  const total = cpus().length;

  async function learnFacts(): Promise<void> {
    hybrid = await hybridCores(files);
    if (stopping.signal.aborted) return;
    // Windows has no files to read AMD's and Intel's cards from.
    const asker = ask(platform === 'win32' ? 'graphics' : 'machine');
    const result = await readFacts(asker, clock, stopping.signal);
    if (result.kind === 'facts') facts = result.facts;
    else factsProblem = result.problem;
  }

  return {
    start() {
      gpus.start();
      tailnet.start();
      void learnFacts();
    },
    read() {
      const reading = withKnownCards(gpus.read(), facts);
      return {
        gpus: reading,
        cores: hybrid ?? countedCores(total, facts.performanceCores, facts.efficiencyCores),
        machineModel: facts.machineModel,
        hostname: hostname(),
        platform,
        memoryBytes: totalmem(),
        availableBytes: freemem(),
        tailnet: tailnet.read(),
        problems: [...reading.problems, ...(factsProblem === null ? [] : [factsProblem])],
      };
    },
    async stop() {
      stopping.abort();
      await Promise.all([gpus.stop(), tailnet.stop()]);
    },
  };
}

/** Adds cards that only systeminformation knows, where no collector reads that vendor. */
function withKnownCards(reading: GpuReading, { cards }: MachineFacts): GpuReading {
  const readVendors = new Set(reading.devices.map(({ vendor }) => vendor));
  const others = cards.filter(({ vendor }) => !readVendors.has(vendor));
  if (others.length === 0) return reading;
  const state = reading.state === 'absent' ? 'reading' : reading.state;
  return { ...reading, state, devices: [...reading.devices, ...others] };
}

/** Threads of each kind of core, as in the record. */
interface CpuCores {
  readonly total: number;
  readonly performance: number;
  readonly efficiency: number;
}

/** A processor of which only the number of cores is known. */
function alike(total: number): CpuCores {
  return { total, performance: total, efficiency: 0 };
}

/**
 * Cores by kind, from Linux's counters for hybrid processors; null where there are none. systeminformation
 * derives them from threads per core, which fails without hyper-threading.
 */
export async function hybridCores(files: KernelFiles): Promise<CpuCores | null> {
  const performance = countOf(await files.text('/sys/devices/cpu_core/cpus'));
  const efficiency = countOf(await files.text('/sys/devices/cpu_atom/cpus'));
  if (performance === 0 || efficiency === 0) return null;
  return { total: performance + efficiency, performance, efficiency };
}

/** Cores from two counts of systeminformation, where they add up. */
export function countedCores(total: number, performance: unknown, efficiency: unknown): CpuCores {
  if (typeof performance !== 'number' || typeof efficiency !== 'number') return alike(total);
  return performance + efficiency === total ? { total, performance, efficiency } : alike(total);
}

/** Length of a CPU list such as `0-7,16`. */
function countOf(list: string | null): number {
  if (list === null || !/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(list)) return 0;
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + Math.max(0, last - first + 1);
  }, 0);
}
