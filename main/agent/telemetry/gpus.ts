import { createAmdCollector } from './amd.ts';
import { createAppleCollector } from './apple.ts';
import {
  type GpuCollector,
  type GpuDevice,
  type GpuReading,
  isLive,
  MAX_GPUS,
  mergedDevice,
  type Problem,
} from './gpu-device.ts';
import { createIntelCollector } from './intel.ts';
import { createNvidiaCollector } from './nvidia.ts';
import type { KernelFiles } from './sysfs.ts';
import type { ToolEdges } from './tool-process.ts';

export interface GpuEdges extends ToolEdges {
  readonly files: KernelFiles;
  readonly platform: NodeJS.Platform;
}

/** The collectors of a platform, for what `library` does not know. */
export function gpuCollectors(
  edges: GpuEdges,
  intervalMs: number,
  library: GpuCollector,
): readonly GpuCollector[] {
  const { files, platform } = edges;
  if (platform === 'darwin') return [createAppleCollector(edges, intervalMs)];
  return [
    createNvidiaCollector(edges, intervalMs, library),
    createAmdCollector(edges, files, intervalMs),
    createIntelCollector(edges, files, intervalMs),
  ];
}

/** An integrated GPU reserves at most this much memory; next to another card it only drives the screen. */
const DISPLAY_ONLY_MB = 2048;

/** Shown if no GPU was found. */
const NO_GPU: Problem = {
  tool: 'GPU',
  tried: 'systeminformation, nvidia-smi, amd-smi, rocm-smi, xpu-smi, ioreg and /sys/class/drm',
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
  const serving = devices.filter(
    ({ isUnified, memoryTotalMb }) => isUnified || (memoryTotalMb ?? Infinity) > DISPLAY_ONLY_MB,
  );
  const states = new Set(own.map(({ state }) => state));
  if (others.length > 0 && !states.has('starting')) states.add('reading');
  const state = (['reading', 'failing', 'starting'] as const).find((each) => states.has(each));
  const problems = [...own.flatMap((each) => each.problems), ...library.problems];
  return {
    state: state ?? 'absent',
    devices: (serving.length > 0 ? serving : devices).slice(0, MAX_GPUS),
    problems: [
      ...devices.flatMap(disagreementProblems),
      ...(state === undefined ? [noGpu(library)] : []),
      ...problems,
    ],
  };
}

/** Tools that print no PCI addresses list a vendor's cards in bus order. */
function placeOf(card: GpuDevice, among: readonly GpuDevice[]): number {
  return among.filter(({ vendor }) => vendor === card.vendor).indexOf(card);
}

function disagreementProblems({ name, key, disagreements }: GpuDevice): readonly Problem[] {
  return disagreements.map((happened) => ({
    tool: 'GPU',
    tried: `reading ${name ?? key} from two sources`,
    happened,
    remedy: 'The first one is used; check which of the two is wrong.',
  }));
}

/** The most likely cause is a card on the bus that no driver reads. */
function noGpu({ devices: [card] }: GpuReading): Problem {
  if (card === undefined) return NO_GPU;
  return {
    ...NO_GPU,
    happened: `${card.name ?? 'a GPU'} is present (${card.key}), but no driver reads it`,
    remedy: "Install the vendor's driver with its tool.",
  };
}
