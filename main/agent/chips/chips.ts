/** How suitable a chip is for inference: by memory bandwidth, which limits decoding, and by memory size. */
export type ChipTier = 'low' | 'mid' | 'high';

/** Data that vendors publish and no driver reports. */
export interface Chip {
  /** As the driver reports it, without the vendor's name. */
  readonly name: string;
  readonly family: string;
  readonly tier: ChipTier;
  /** CUDA cores, stream processors, Xe vector engines' cores, or Apple's GPU cores. */
  readonly gpuCores: number | null;
  /** Peak bandwidth of one device. */
  readonly bandwidthGbs: number | null;
  /** Distinguishes chips sold under one name; null if the name is enough. */
  readonly memoryGb: number | null;
  /** The page that states these figures. */
  readonly source: string;
}

/** A row of a table: name, tier, cores, bandwidth and, if the name is not enough, memory. */
type ChipRow = readonly [
  name: string,
  tier: ChipTier,
  gpuCores: number | null,
  bandwidthGbs: number | null,
  memoryGb?: number,
];

/** Rows of one family and one source. */
export function family(name: string, source: string, rows: readonly ChipRow[]): readonly Chip[] {
  return rows.map(([chip, tier, gpuCores, bandwidthGbs, memoryGb]) => ({
    name: chip,
    family: name,
    tier,
    gpuCores,
    bandwidthGbs,
    memoryGb: memoryGb ?? null,
    source: `${source}: ${chip}`,
  }));
}

const RADEON = 'AMD, product page "Specifications"';
const INSTINCT = 'AMD Instinct, data sheet';
const ARC = 'Intel, product specifications (ark.intel.com)';

/** AMD and Intel chips that are common for inference. Bandwidth excludes caches. */
export const AMD_INTEL_CHIPS: readonly Chip[] = [
  ...family('RDNA 4', RADEON, [
    ['Radeon RX 9070 XT', 'mid', 4096, 640],
    ['Radeon RX 9070', 'mid', 3584, 640],
    ['Radeon AI PRO R9700', 'high', 4096, 640],
  ]),
  ...family('RDNA 3', RADEON, [
    ['Radeon RX 7900 XTX', 'high', 6144, 960],
    ['Radeon RX 7900 XT', 'high', 5376, 800],
    ['Radeon RX 7800 XT', 'mid', 3840, 624],
    ['Radeon RX 7600 XT', 'mid', 2048, 288],
    ['Radeon PRO W7900', 'high', 6144, 864],
  ]),
  ...family('RDNA 3.5', RADEON, [['Radeon 8060S', 'mid', 2560, 256]]),
  ...family('RDNA 2', RADEON, [
    ['Radeon RX 6900 XT', 'mid', 5120, 512],
    ['Radeon RX 6800 XT', 'mid', 4608, 512],
  ]),
  ...family('CDNA 4', INSTINCT, [
    ['Instinct MI350X', 'high', 16384, 8000],
    ['Instinct MI355X', 'high', 16384, 8000],
  ]),
  ...family('CDNA 3', INSTINCT, [
    ['Instinct MI300X', 'high', 19456, 5300],
    ['Instinct MI325X', 'high', 19456, 6000],
  ]),
  ...family('CDNA 2', INSTINCT, [['Instinct MI210', 'high', 6656, 1638]]),
  ...family('Battlemage', ARC, [
    ['Arc B580', 'mid', 2560, 456],
    ['Arc B570', 'low', 2304, 380],
  ]),
  ...family('Alchemist', ARC, [['Arc A770', 'mid', 4096, 560]]),
];

const SPECS = 'Apple, "Mac technical specifications"';

/** Apple's chips. If one name was sold with several GPUs, the number of cores distinguishes them. */
export const APPLE_CHIPS: readonly Chip[] = [
  ...family('M1', SPECS, [
    ['M1', 'low', null, 68],
    ['M1 Pro', 'mid', null, 200],
    ['M1 Max', 'high', null, 400],
    ['M1 Ultra', 'high', null, 800],
  ]),
  ...family('M2', SPECS, [
    ['M2', 'low', null, 100],
    ['M2 Pro', 'mid', null, 200],
    ['M2 Max', 'high', null, 400],
    ['M2 Ultra', 'high', null, 800],
  ]),
  ...family('M3', SPECS, [
    ['M3', 'low', null, 100],
    ['M3 Pro', 'mid', null, 150],
    ['M3 Max', 'high', 30, 300],
    ['M3 Max', 'high', 40, 400],
    ['M3 Ultra', 'high', null, 819],
  ]),
  ...family('M4', SPECS, [
    ['M4', 'low', null, 120],
    ['M4 Pro', 'mid', null, 273],
    ['M4 Max', 'high', 32, 410],
    ['M4 Max', 'high', 40, 546],
  ]),
  ...family('M5', SPECS, [['M5', 'mid', null, 153]]),
];
