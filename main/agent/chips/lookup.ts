import { AMD_INTEL_CHIPS, APPLE_CHIPS, type Chip, type ChipTier } from './chips.ts';
import { familyByCapability, NVIDIA_CHIPS } from './nvidia.ts';

export const CHIPS: readonly Chip[] = [...NVIDIA_CHIPS, ...AMD_INTEL_CHIPS, ...APPLE_CHIPS];

/** What a driver reports about a chip. */
export interface ChipHints {
  readonly name: string | null;
  readonly memoryMb: number | null;
  readonly gpuCores: number | null;
  readonly computeCapability: string | null;
}

/** Null means unknown; nothing is guessed. */
export interface ChipFacts {
  readonly family: string | null;
  readonly tier: ChipTier | null;
  readonly gpuCores: number | null;
  readonly bandwidthGbs: number | null;
}

/** Looks up a chip by the name that its driver reports. */
export function chipFacts({ name, memoryMb, gpuCores, computeCapability }: ChipHints): ChipFacts {
  const named = name === null ? [] : (BY_NAME.get(normalised(name)) ?? []);
  const fitting = named.filter((chip) => fits(chip, named.length, memoryMb, gpuCores));
  const chips = fitting.length > 0 ? fitting : named;
  const byCapability = computeCapability === null ? null : familyByCapability(computeCapability);
  return {
    family: agreed(chips.map(({ family }) => family)) ?? byCapability,
    tier: agreed(chips.map(({ tier }) => tier)),
    gpuCores: gpuCores ?? agreed(chips.map((chip) => chip.gpuCores)),
    bandwidthGbs: agreed(chips.map(({ bandwidthGbs }) => bandwidthGbs)),
  };
}

const MB_PER_GB = 1024;
/** Drivers reserve part of the memory. */
const MEMORY_SLACK_GB = 1;

/** Whether the driver's figures match this one of several chips with the same name. */
function fits(
  chip: Chip,
  namesakes: number,
  memoryMb: number | null,
  gpuCores: number | null,
): boolean {
  if (namesakes === 1) return true;
  if (chip.memoryGb !== null) {
    return memoryMb !== null && Math.abs(memoryMb / MB_PER_GB - chip.memoryGb) <= MEMORY_SLACK_GB;
  }
  return gpuCores !== null && chip.gpuCores === gpuCores;
}

/** The common value; null if they differ. */
function agreed<T>(values: readonly T[]): T | null {
  const [first, ...others] = values;
  return first !== undefined && others.every((other) => other === first) ? first : null;
}

/** Vendor names and trademark signs, which only some drivers print. */
const NOISE =
  /\b(nvidia|amd|ati|intel|apple|corporation|inc|graphics|geforce|radeon|instinct|oam)\b/g;

/** `AMD Radeon(TM) RX 7900 XTX` and `Radeon RX 7900 XTX` are one chip; a laptop's is another. */
export function normalised(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/\((r|tm|c)\)|[®™]/g, ' ')
    .replaceAll(NOISE, ' ')
    .replaceAll(/[\s,]+/g, ' ')
    .trim();
}

const BY_NAME = Map.groupBy(CHIPS, ({ name }) => normalised(name));
