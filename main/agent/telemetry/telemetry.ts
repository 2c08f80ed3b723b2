import type { AgentProblem } from '#shared/agent.ts';
import { cpus, freemem, hostname, totalmem } from 'node:os';
import { execPath, versions } from 'node:process';
import { createRounds } from '../../platform/async.ts';
import type { Clock } from '../../platform/clock.ts';
import { listOf, memberOf, parseJson, textOf } from '../../platform/json.ts';
import { createAmdCollector } from './amd.ts';
import { createAppleCollector } from './apple.ts';
import { type GpuDevice, type GpuReading, isLive, mergedDevice } from './gpu-device.ts';
import { createIntelCollector } from './intel.ts';
import { createNvidiaCollector } from './nvidia.ts';
import type { GpuCollector } from './poll.ts';
import { createKernelFiles, type KernelFiles, mebibytes } from './sysfs.ts';
import { createLibrary } from './systeminformation.ts';
import {
  createStartTool,
  outputOf,
  type StartTool,
  type ToolEdges,
  type ToolWorld,
} from './tool-process.ts';

/** A snapshot of this machine's hardware and its load. */
export interface Telemetry {
  readonly gpus: GpuReading;
  readonly cores: CpuCores;
  readonly machineModel: string | null;
  readonly hostname: string;
  readonly platform: string;
  /** Bytes. */
  readonly memoryBytes: number;
  readonly tailnet: Tailnet | null;
}

export type TelemetryWatch = ReturnType<typeof createTelemetry>;

interface TelemetryOptions extends ToolWorld {
  readonly clock: Clock;
  /** Root of the kernel's file tree; not `/` only in tests. */
  readonly root?: string;
  /** Runs one of our files as a process that can be killed; by default, under plain Node. */
  readonly startHelper?: StartTool | undefined;
  /** For tests. */
  readonly startTool?: StartTool;
}

export function createTelemetry(options: TelemetryOptions) {
  const { clock, platform } = options;
  const files = createKernelFiles(options.root ?? '/');
  const startTool = options.startTool ?? createStartTool(options);
  const startHelper = options.startHelper ?? nodeHelper(startTool);
  const edges = { clock, startTool };
  const library = createLibrary({ clock, platform, startHelper });
  /** For what the library does not know. */
  const collectors: readonly GpuCollector[] =
    platform === 'darwin'
      ? [createAppleCollector(edges)]
      : [
          createNvidiaCollector(edges, library.gpus),
          createAmdCollector(edges, files),
          createIntelCollector(clock, files),
        ];
  const tailnet = createTailnetWatch(edges);
  // The library comes first, because other collectors wait for its first round.
  const parts = [library.gpus, ...collectors, tailnet];
  let hybrid: CpuCores | null = null;
  const total = cpus().length;

  return {
    start(): void {
      for (const part of parts) part.start();
      void hybridCores(files).then((cores) => (hybrid = cores));
    },
    /** Returns at once. */
    read(): Telemetry {
      const memory = { totalBytes: totalmem(), availableBytes: freemem() };
      const own = collectors.map((collector) => collector.read());
      const { devices, ...reading } = mergedReading(library.gpus.read(), own);
      const { machineModel, performanceCores, efficiencyCores } = library.facts();
      return {
        gpus: { ...reading, devices: devices.map((device) => withHostMemory(device, memory)) },
        cores: hybrid ?? countedCores(total, performanceCores, efficiencyCores),
        machineModel,
        hostname: hostname(),
        platform,
        memoryBytes: memory.totalBytes,
        tailnet: tailnet.read(),
      };
    },
    /** Reads the GPUs again at once. The tailnet is not read, because it comes up only after the network. */
    look(): void {
      for (const part of [library.gpus, ...collectors]) part.look();
    },
    async stop(): Promise<void> {
      await Promise.all(parts.map((part) => part.stop()));
    },
  };
}

/** Electron cannot run files as Node does: it would start the app again. */
function nodeHelper(startTool: StartTool): StartTool {
  return (file, args, onData) =>
    versions['electron'] === undefined
      ? startTool(execPath, [file, ...args], onData)
      : { kill() {}, ended: Promise.resolve({ kind: 'missing' }) };
}

/**
 * For a card that uses the machine's memory, the system reports what the driver does not. On Linux, what the kernel would
 * give up is available.
 */
export function withHostMemory(
  device: GpuDevice,
  memory: Readonly<Record<'totalBytes' | 'availableBytes', number>>,
): GpuDevice {
  const total = mebibytes(memory.totalBytes) ?? 0;
  const { isUnified, vendor, memoryTotalMb: told } = device;
  // AMD's driver tells how much of it a chip may take, and NVIDIA's only what is set apart for it, mostly far less.
  const isTold = told !== null && (vendor !== 'nvidia' || told >= total);
  if (!isUnified || isTold) return device;
  const own = told === null ? device : { memoryUsedMb: null, memoryFreeMb: null };
  const used = own.memoryUsedMb ?? total - (mebibytes(memory.availableBytes) ?? 0);
  return {
    ...device,
    memoryTotalMb: total,
    memoryUsedMb: Math.max(0, used),
    memoryFreeMb: own.memoryFreeMb ?? Math.max(0, total - used),
  };
}

/** Threads of each kind of core, as in the record. */
interface CpuCores {
  readonly total: number;
  readonly performance: number;
  readonly efficiency: number;
}

/**
 * Cores by kind, from Linux's counters for hybrid processors; null if there are none. systeminformation derives them
 * from threads per core, which fails without hyper-threading.
 */
export async function hybridCores(files: KernelFiles): Promise<CpuCores | null> {
  const performance = countOf(await files.text('/sys/devices/cpu_core/cpus'));
  const efficiency = countOf(await files.text('/sys/devices/cpu_atom/cpus'));
  if (performance === 0 || efficiency === 0) return null;
  return { total: performance + efficiency, performance, efficiency };
}

/** Cores from two counts of systeminformation, if they add up; otherwise only their number is known. */
function countedCores(
  total: number,
  performance: number | null,
  efficiency: number | null,
): CpuCores {
  return performance !== null && efficiency !== null && performance + efficiency === total
    ? { total, performance, efficiency }
    : { total, performance: total, efficiency: 0 };
}

/** Length of a CPU list such as `0-7,16`. */
function countOf(list: string | null): number {
  if (list === null || !/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(list)) return 0;
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + Math.max(0, last - first + 1);
  }, 0);
}

/** An integrated GPU reserves at most this much memory; next to a card, it and one of AMD's only drive the screen. */
const DISPLAY_ONLY_MB = 2048;

/** Shown if no GPU was found. */
const NO_GPU: AgentProblem = {
  tool: 'GPU',
  tried: 'systeminformation, nvidia-smi, amd-smi, ioreg and /sys/class/drm',
  happened: 'no GPU was found',
  remedy:
    'If this machine has one, install its driver and its tool; in a container, pass the GPU through.',
};

/** The library's cards completed by the vendors' own readers, in the order of the vendors. */
export function mergedReading(library: GpuReading, own: readonly GpuReading[]): GpuReading {
  const readings = own.map(({ devices }) => devices).flat();
  const isSame = (card: GpuDevice, device: GpuDevice) =>
    card.pciAddress !== null && device.pciAddress !== null
      ? card.pciAddress === device.pciAddress
      : card.vendor === device.vendor &&
        placeOf(card, library.devices) === placeOf(device, readings);
  const merged = readings.map((device) => {
    const card = library.devices.find((each) => isSame(each, device));
    return card === undefined ? device : mergedDevice(card, device);
  });
  const others = library.devices.filter(
    (card) =>
      (card.memoryTotalMb ?? 0) > DISPLAY_ONLY_MB &&
      !readings.some((device) => isSame(card, device)) &&
      // The vendor's own reader knows which of its cards still work.
      (isLive(card) || !readings.some(({ vendor }) => vendor === card.vendor)),
  );
  const devices = [...merged, ...others];
  const isCard = ({ isUnified, memoryTotalMb }: GpuDevice) =>
    !isUnified && (memoryTotalMb ?? Infinity) > DISPLAY_ONLY_MB;
  const cards = devices.filter(isCard);
  const serving = devices.filter(
    (device) =>
      isCard(device) || (device.isUnified && (device.vendor !== 'amd' || cards.length === 0)),
  );
  const states = new Set(own.map(({ state }) => state));
  if (others.length > 0 && !states.has('starting')) states.add('reading');
  const state = (['reading', 'failing', 'starting'] as const).find((each) => states.has(each));
  const problems = [...own.flatMap((each) => each.problems), ...library.problems];
  return {
    state: state ?? 'absent',
    devices: serving.length > 0 ? serving : devices,
    problems: [...(state === undefined ? [noGpu(library)] : []), ...problems],
  };
}

/** Tools that print no PCI addresses list a vendor's cards in bus order. */
function placeOf(card: GpuDevice, among: readonly GpuDevice[]): number {
  return among.filter(({ vendor }) => vendor === card.vendor).indexOf(card);
}

/** The most likely cause is a card on the bus that no driver reads. */
function noGpu({ devices: [card] }: GpuReading): AgentProblem {
  if (card === undefined) return NO_GPU;
  return {
    ...NO_GPU,
    happened: `${card.name ?? 'a GPU'} is present (${card.key}), but no driver reads it`,
    remedy: "Install the vendor's driver with its tool.",
  };
}

export interface Tailnet {
  readonly hostname: string;
  readonly ip: string;
}

const TAILSCALE = ['tailscale', '/Applications/Tailscale.app/Contents/MacOS/Tailscale'];
const TAILNET_INTERVAL_MS = 60_000;

export function createTailnetWatch(edges: ToolEdges) {
  let tailnet: Tailnet | null = null;
  const rounds = createRounds(async (signal) => {
    const text = await outputOf(TAILSCALE, ['status', '--json', '--peers=false'], edges, signal);
    if (!signal.aborted) tailnet = text === null ? null : parseTailscale(text);
    return TAILNET_INTERVAL_MS;
  }, edges);
  return {
    ...rounds,
    /** Null if there is none or it is switched off. */
    read: () => tailnet,
  };
}

/** Reads `tailscale status --json`; null unless it is running, because it lists addresses even while stopped. */
export function parseTailscale(text: string): Tailnet | null {
  const status = parseJson(text);
  const isUp =
    memberOf(status, 'BackendState') === 'Running' && memberOf(status, 'Self', 'Online') === true;
  const name = textOf(memberOf(status, 'Self', 'DNSName'))?.replace(/\.$/, '') ?? '';
  const addresses = listOf(memberOf(status, 'Self', 'TailscaleIPs')).map((each) => textOf(each));
  const ip = addresses.find((each) => each?.includes('.')) ?? addresses[0] ?? null;
  return isUp && name !== '' && ip !== null ? { hostname: name, ip } : null;
}
