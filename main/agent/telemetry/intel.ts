import type { Clock } from '../../platform/clock.ts';
import { type GpuDevice, parsePciAddress, deviceOf } from './gpu-device.ts';
import { ABSENT, createPollCollector, type GpuCollector, type Poll, readingOf } from './poll.ts';
import {
  type KernelFiles,
  mebibytes,
  SYSFS,
  type SysfsCard,
  sysfsCards,
  sysfsHwmon,
} from './sysfs.ts';

const INTEL_VENDOR_ID = '0x8086';

/**
 * Reads Intel's discrete cards from the driver's files: systeminformation has no live values for them, and mistakes
 * lspci's memory region for their memory. xpu-smi has little more to say without root.
 */
export function createIntelCollector(clock: Clock, files: KernelFiles): GpuCollector {
  async function poll(): Promise<Poll> {
    const devices: GpuDevice[] = [];
    for (const card of await sysfsCards(files, INTEL_VENDOR_ID)) {
      // An integrated GPU is always on bus 0; it shares the machine's memory and is no use for inference.
      if (/^[0-9a-f]+:00:/.test(card.pciAddress)) continue;
      devices.push(
        deviceOf({
          key: card.pciAddress,
          vendor: 'intel',
          pciAddress: parsePciAddress(card.pciAddress),
          memoryTotalMb: mebibytes(await ownMemory(files, card)),
          ...(await sysfsHwmon(files, card)),
        }),
      );
    }
    return devices.length === 0 ? ABSENT : readingOf(devices);
  }
  return createPollCollector(SYSFS, clock, poll);
}

/** In bytes, from all tiles with the driver xe, or from one file with i915 (AlexsJones/llmfit#733); null if none. */
async function ownMemory(files: KernelFiles, { path }: SysfsCard): Promise<number | null> {
  const tiles = (await files.names(path)).filter((name) => /^tile\d+$/.test(name));
  let sum = 0;
  for (const tile of tiles)
    sum += (await files.number(`${path}/${tile}/physical_vram_size_bytes`)) ?? 0;
  return sum > 0 ? sum : files.number(path.replace(/device$/, 'lmem_total_bytes'));
}
