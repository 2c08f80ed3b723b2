import { createAmdCollector } from './amd.ts';
import { createAppleCollector } from './apple.ts';
import { type GpuCollector, type GpuReading, MAX_GPUS, type Problem } from './gpu-device.ts';
import { createIntelCollector } from './intel.ts';
import { createNvidiaCollector } from './nvidia.ts';
import type { KernelFiles } from './sysfs.ts';
import type { ToolEdges } from './tool-process.ts';

export interface GpuEdges extends ToolEdges {
  readonly files: KernelFiles;
  readonly platform: NodeJS.Platform;
}

/** The collectors that apply to a platform. */
export function gpuCollectors(edges: GpuEdges, intervalMs: number): readonly GpuCollector[] {
  const { files, platform } = edges;
  if (platform === 'darwin') return [createAppleCollector(edges, intervalMs)];
  return [
    createNvidiaCollector(edges, intervalMs),
    createAmdCollector(edges, files, intervalMs),
    createIntelCollector(edges, files, intervalMs),
  ];
}

/** An integrated GPU reserves at most this much memory; beside another card it only drives the screen. */
const DISPLAY_ONLY_MB = 2048;

/** Shown where no GPU was found. */
const NO_GPU: Problem = {
  tool: 'GPU',
  tried: 'nvidia-smi, amd-smi, rocm-smi, xpu-smi, ioreg and /sys/class/drm',
  happened: 'no GPU was found',
  remedy:
    'If this machine has one, install its driver and its tool; in a container, pass the GPU on.',
};

/** Combines collectors; cards are in the order of their vendors. */
export function allGpus(collectors: readonly GpuCollector[]): GpuCollector {
  return {
    start() {
      for (const collector of collectors) collector.start();
    },
    read: () => mergedReading(collectors.map((collector) => collector.read())),
    async stop() {
      await Promise.all(collectors.map((collector) => collector.stop()));
    },
  };
}

export function mergedReading(readings: readonly GpuReading[]): GpuReading {
  const devices = readings.flatMap((reading) => reading.devices);
  const serving = devices.filter(
    ({ isUnified, memoryTotalMb }) => isUnified || (memoryTotalMb ?? Infinity) > DISPLAY_ONLY_MB,
  );
  const states = new Set(readings.map(({ state }) => state));
  const state = (['reading', 'failing', 'starting'] as const).find((each) => states.has(each));
  return {
    state: state ?? 'absent',
    devices: (serving.length > 0 ? serving : devices).slice(0, MAX_GPUS),
    problems: state === undefined ? [NO_GPU] : readings.flatMap(({ problems }) => problems),
  };
}
