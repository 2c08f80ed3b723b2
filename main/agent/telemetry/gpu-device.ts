import type { AgentProblem } from '#shared/agent.ts';

/** By the id of the vendor: its name, and the words by which a controller is known to be one of its accelerators. */
export const GPU_VENDORS = {
  nvidia: { name: 'NVIDIA', words: /nvidia/i },
  amd: { name: 'AMD', words: /\bAMD\b|Advanced Micro|\bATI\b|Radeon/i },
  apple: { name: 'Apple', words: /^Apple\b/i },
  intel: { name: 'Intel', words: /Intel.*\bArc\b/i },
} as const;

/** Decides which tool reads the accelerator. */
export type GpuVendor = keyof typeof GPU_VENDORS;

/** An accelerator as its driver describes it. Null means unknown; 0 was measured. */
export interface GpuDevice {
  /** Identifies the card across restarts: NVIDIA's UUID, otherwise its PCI address, never its position. */
  readonly key: string;
  readonly vendor: GpuVendor;
  /** In the form of `parsePciAddress`. */
  readonly pciAddress: string | null;
  readonly name: string | null;
  /** MiB, as all drivers report it. */
  readonly memoryTotalMb: number | null;
  readonly memoryUsedMb: number | null;
  readonly memoryFreeMb: number | null;
  /** Percent of the time in which the chip was busy. */
  readonly utilGpu: number | null;
  /** Percent of the time in which the memory was read or written, not how full it is. */
  readonly utilMemory: number | null;
  readonly temperatureC: number | null;
  readonly powerW: number | null;
  readonly gpuCores: number | null;
  /** The accelerator uses the machine's own memory. */
  readonly isUnified: boolean;
  /** The driver's message in place of readings, such as `GPU is lost`; such a card cannot serve. */
  readonly fault: string | null;
}

export interface GpuReading {
  /**
   * `starting`: no reading yet. `absent`: neither the tool nor its cards are on this machine. `failing`: the tool does
   * not answer properly.
   */
  readonly state: 'starting' | 'reading' | 'absent' | 'failing';
  readonly devices: readonly GpuDevice[];
  readonly problems: readonly AgentProblem[];
}

/** Readings that change while a card works. */
const NO_LIVE_VALUES = {
  memoryUsedMb: null,
  memoryFreeMb: null,
  utilGpu: null,
  utilMemory: null,
  temperatureC: null,
  powerW: null,
} as const;

const NO_VALUES = { name: null, memoryTotalMb: null, ...NO_LIVE_VALUES, gpuCores: null } as const;

type ValueName = keyof typeof NO_VALUES;
const VALUE_NAMES = Object.keys(NO_VALUES) as readonly ValueName[];
const LIVE_NAMES = Object.keys(NO_LIVE_VALUES) as readonly (keyof typeof NO_LIVE_VALUES)[];

/** Whether any reading is known that changes while a card works. */
export function isLive(device: GpuDevice): boolean {
  return LIVE_NAMES.some((name) => device[name] !== null);
}

/** A card without readings; each reader overrides what its source reports. */
export const UNREAD = { ...NO_VALUES, pciAddress: null, isUnified: false, fault: null } as const;

/**
 * NVIDIA's chips that use the machine's memory: GB10 (DGX Spark), N1X (RTX Spark), and Jetson's Orin and Thor. Only
 * their names tell: N/A in place of their memory is also what partitioned cards print, and an N1X prints what is set
 * apart for it, such as 8,128 MiB of 64 GB (unslothai/unsloth#11208; names: NVIDIA/NemoClaw#12282).
 */
const UNIFIED_NVIDIA = /\b(GB10|N1X|Orin|Thor|Tegra)\b/i;

export const deviceOf = (
  told: Partial<GpuDevice> & Pick<GpuDevice, 'key' | 'vendor'>,
): GpuDevice => ({
  ...UNREAD,
  isUnified: told.vendor === 'nvidia' && UNIFIED_NVIDIA.test(told.name ?? ''),
  ...told,
});

/** One card as described by two sources: the values of the first, and those of the second where it has none. */
export function mergedDevice(first: GpuDevice, second: GpuDevice): GpuDevice {
  // `Navi 31 [Radeon RX 7900 XT/7900 XTX]` names several cards.
  const isVague = first.name?.includes('[') === true && second.name !== null;
  const [one, other] = isVague ? [{ ...first, name: null }, second] : [first, second];
  const values = VALUE_NAMES.map((name) => [name, one[name] ?? other[name]] as const);
  return {
    ...second,
    ...(Object.fromEntries(values) as Pick<GpuDevice, ValueName>),
    pciAddress: second.pciAddress ?? first.pciAddress,
    isUnified: first.isUnified || second.isUnified,
    fault: second.fault ?? first.fault,
  };
}

/** Of a value of several cards; null if one is unknown, as the sum would be too low, or if there are none. */
export function summed(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  if (values.length === 0 || known.length < values.length) return null;
  return known.reduce((sum, value) => sum + value, 0);
}

/** The card without its live readings, which are out of date. */
export function outOfDate(device: GpuDevice): GpuDevice {
  return { ...device, ...NO_LIVE_VALUES };
}

/** `0000:01:00.0` from the forms in which tools write it: `01:00.0`, `00000000:01:00.0`; null for anything else. */
export function parsePciAddress(text: string | null): string | null {
  const parts = /^(?:([\da-f]{4,8}):)?([\da-f]{2}:[\da-f]{2}\.[0-7])$/i.exec(text ?? '');
  if (parts === null) return null;
  return `${(parts[1] ?? '0000').slice(-4)}:${parts[2] ?? ''}`.toLowerCase();
}
