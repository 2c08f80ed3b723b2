import type { GpuDevice } from './telemetry/gpu-device.ts';

/** How suitable a chip is for inference: by memory bandwidth, which limits decoding, and by memory size. */
type ChipTier = 'low' | 'mid' | 'high';

/** Data that vendors publish and no driver reports. */
interface Chip {
  readonly family: string;
  /** As the driver reports it. */
  readonly name: string;
  readonly tier: ChipTier;
  /** CUDA cores, stream processors, Xe vector engines' cores, or Apple's GPU cores. */
  readonly gpuCores: number | null;
  /** Peak bandwidth of one device, without caches. */
  readonly bandwidthGbs: number | null;
  /** Distinguishes chips sold under one name; null if the name is enough. */
  readonly memoryGb: number | null;
}

type ChipRow = readonly [
  family: string,
  name: string,
  tier: ChipTier,
  gpuCores: number | null,
  bandwidthGbs: number | null,
  memoryGb?: number,
];

/** Chips that are common for inference, under the names that drivers print. */
const ROWS: readonly ChipRow[] = [
  // NVIDIA, "Compare GeForce graphics cards" and the product page: bandwidth is bus width times the data rate given there.
  ['Blackwell', 'GeForce RTX 5090', 'high', 21760, 1792],
  ['Blackwell', 'GeForce RTX 5080', 'high', 10752, 960],
  ['Blackwell', 'GeForce RTX 5070 Ti', 'high', 8960, 896],
  ['Blackwell', 'GeForce RTX 5070', 'mid', 6144, 672],
  ['Blackwell', 'GeForce RTX 5060 Ti', 'mid', 4608, 448],
  ['Blackwell', 'GeForce RTX 5060', 'low', 3840, 448],
  ['Ada Lovelace', 'GeForce RTX 4090', 'high', 16384, 1008],
  ['Ada Lovelace', 'GeForce RTX 4080 SUPER', 'high', 10240, 736],
  ['Ada Lovelace', 'GeForce RTX 4080', 'high', 9728, 717],
  ['Ada Lovelace', 'GeForce RTX 4070 Ti SUPER', 'high', 8448, 672],
  ['Ada Lovelace', 'GeForce RTX 4070 Ti', 'mid', 7680, 504],
  ['Ada Lovelace', 'GeForce RTX 4070 SUPER', 'mid', 7168, 504],
  ['Ada Lovelace', 'GeForce RTX 4070', 'mid', 5888, 504],
  ['Ada Lovelace', 'GeForce RTX 4060 Ti', 'mid', 4352, 288],
  ['Ada Lovelace', 'GeForce RTX 4060', 'low', 3072, 272],
  ['Ampere', 'GeForce RTX 3090 Ti', 'high', 10752, 1008],
  ['Ampere', 'GeForce RTX 3090', 'high', 10496, 936],
  ['Ampere', 'GeForce RTX 3080 Ti', 'mid', 10240, 912],
  ['Ampere', 'GeForce RTX 3080', 'mid', 8960, 912, 12],
  ['Ampere', 'GeForce RTX 3080', 'mid', 8704, 760, 10],
  ['Ampere', 'GeForce RTX 3070 Ti', 'mid', 6144, 608],
  ['Ampere', 'GeForce RTX 3070', 'mid', 5888, 448],
  ['Ampere', 'GeForce RTX 3060 Ti', 'mid', 4864, 448],
  ['Ampere', 'GeForce RTX 3060', 'mid', 3584, 360, 12],
  ['Ampere', 'GeForce RTX 3060', 'low', 3584, 240, 8],
  ['Turing', 'GeForce RTX 2080 Ti', 'mid', 4352, 616],
  ['Turing', 'GeForce RTX 2080', 'low', 2944, 448],
  ['Turing', 'GeForce RTX 2070', 'low', 2304, 448],
  // NVIDIA, "Compare GeForce laptops".
  ['Blackwell', 'GeForce RTX 5090 Laptop GPU', 'high', 10496, 896],
  ['Ada Lovelace', 'GeForce RTX 4090 Laptop GPU', 'high', 9728, 576],
  // NVIDIA, data sheet.
  ['Blackwell', 'B200', 'high', null, 8000],
  ['Blackwell', 'GB200', 'high', null, 8000],
  ['Blackwell', 'GB10', 'high', 6144, 273],
  ['Hopper', 'H200', 'high', 16896, 4800],
  ['Hopper', 'H200 NVL', 'high', 16896, 4800],
  ['Hopper', 'H100 80GB HBM3', 'high', 16896, 3350],
  ['Hopper', 'H100 PCIe', 'high', 14592, 2000],
  ['Hopper', 'H100 NVL', 'high', 16896, 3900],
  ['Hopper', 'GH200 480GB', 'high', 16896, 4000],
  ['Ada Lovelace', 'L40S', 'high', 18176, 864],
  ['Ada Lovelace', 'L40', 'high', 18176, 864],
  ['Ada Lovelace', 'L4', 'mid', 7424, 300],
  ['Ampere', 'A100-SXM4-80GB', 'high', 6912, 2039],
  ['Ampere', 'A100-SXM4-40GB', 'high', 6912, 1555],
  ['Ampere', 'A100 80GB PCIe', 'high', 6912, 1935],
  ['Ampere', 'A100-PCIE-40GB', 'high', 6912, 1555],
  ['Ampere', 'A40', 'high', 10752, 696],
  ['Ampere', 'A30', 'high', 3584, 933],
  ['Ampere', 'A10', 'mid', 9216, 600],
  ['Ampere', 'A10G', 'mid', 9216, 600],
  ['Turing', 'Tesla T4', 'low', 2560, 300],
  ['Volta', 'Tesla V100-SXM2-32GB', 'mid', 5120, 900],
  ['Volta', 'Tesla V100-SXM2-16GB', 'mid', 5120, 900],
  // NVIDIA, RTX professional data sheet.
  ['Blackwell', 'RTX PRO 6000 Blackwell Workstation Edition', 'high', 24064, 1792],
  ['Blackwell', 'RTX PRO 6000 Blackwell Server Edition', 'high', 24064, 1597],
  ['Ada Lovelace', 'RTX 6000 Ada Generation', 'high', 18176, 960],
  ['Ada Lovelace', 'RTX 4000 Ada Generation', 'mid', 6144, 360],
  ['Ampere', 'RTX A6000', 'high', 10752, 768],
  ['Ampere', 'RTX A5000', 'high', 8192, 768],
  ['Ampere', 'RTX A4000', 'mid', 6144, 448],
  // AMD, product page "Specifications".
  ['RDNA 4', 'Radeon RX 9070 XT', 'mid', 4096, 640],
  ['RDNA 4', 'Radeon RX 9070', 'mid', 3584, 640],
  ['RDNA 4', 'Radeon AI PRO R9700', 'high', 4096, 640],
  ['RDNA 3', 'Radeon RX 7900 XTX', 'high', 6144, 960],
  ['RDNA 3', 'Radeon RX 7900 XT', 'high', 5376, 800],
  ['RDNA 3', 'Radeon RX 7800 XT', 'mid', 3840, 624],
  ['RDNA 3', 'Radeon RX 7600 XT', 'mid', 2048, 288],
  ['RDNA 3', 'Radeon PRO W7900', 'high', 6144, 864],
  ['RDNA 3.5', 'Radeon 8060S', 'mid', 2560, 256],
  ['RDNA 2', 'Radeon RX 6900 XT', 'mid', 5120, 512],
  ['RDNA 2', 'Radeon RX 6800 XT', 'mid', 4608, 512],
  // AMD Instinct, data sheet.
  ['CDNA 4', 'Instinct MI350X', 'high', 16384, 8000],
  ['CDNA 4', 'Instinct MI355X', 'high', 16384, 8000],
  ['CDNA 3', 'Instinct MI300X', 'high', 19456, 5300],
  ['CDNA 3', 'Instinct MI325X', 'high', 19456, 6000],
  ['CDNA 2', 'Instinct MI210', 'high', 6656, 1638],
  // Intel, product specifications (ark.intel.com).
  ['Battlemage', 'Arc B580', 'mid', 2560, 456],
  ['Battlemage', 'Arc B570', 'low', 2304, 380],
  ['Alchemist', 'Arc A770', 'mid', 4096, 560],
  // Apple, "Mac technical specifications". If one name was sold with several GPUs, the number of cores distinguishes them.
  ['M1', 'M1', 'low', null, 68],
  ['M1', 'M1 Pro', 'mid', null, 200],
  ['M1', 'M1 Max', 'high', null, 400],
  ['M1', 'M1 Ultra', 'high', null, 800],
  ['M2', 'M2', 'low', null, 100],
  ['M2', 'M2 Pro', 'mid', null, 200],
  ['M2', 'M2 Max', 'high', null, 400],
  ['M2', 'M2 Ultra', 'high', null, 800],
  ['M3', 'M3', 'low', null, 100],
  ['M3', 'M3 Pro', 'mid', null, 150],
  ['M3', 'M3 Max', 'high', 30, 300],
  ['M3', 'M3 Max', 'high', 40, 400],
  ['M3', 'M3 Ultra', 'high', null, 819],
  ['M4', 'M4', 'low', null, 120],
  ['M4', 'M4 Pro', 'mid', null, 273],
  ['M4', 'M4 Max', 'high', 32, 410],
  ['M4', 'M4 Max', 'high', 40, 546],
  ['M5', 'M5', 'mid', null, 153],
];

export const CHIPS: readonly Chip[] = ROWS.map(
  ([family, name, tier, gpuCores, bandwidthGbs, memoryGb = null]) => {
    return { family, name, tier, gpuCores, bandwidthGbs, memoryGb };
  },
);

/** The series of a card without a row (NVIDIA, "CUDA GPU Compute Capability"); an RTX 2050 is no Turing. */
const NVIDIA_SERIES: readonly (readonly [RegExp, string])[] = [
  [/blackwell|^rtx 50[5-9]0|^g?b\d/, 'Blackwell'],
  [/\bada\b|^rtx 40[5-9]0|^l\d/, 'Ada Lovelace'],
  [/^g?h\d/, 'Hopper'],
  [/^rtx 30[5-9]0|^(rtx )?a\d/, 'Ampere'],
  [/^rtx 20[6-8]0|^gtx 16/, 'Turing'],
];

type Hints = Pick<GpuDevice, 'vendor' | 'name' | 'memoryTotalMb' | 'gpuCores'>;

/** Null means unknown; nothing is guessed. */
export function chipFacts(card: Hints) {
  const { gpuCores } = card;
  const name = normalised(card.name ?? '');
  const named = BY_NAME.get(name) ?? [];
  const fitting = named.filter((chip) => named.length === 1 || fits(chip, card));
  const chips = fitting.length > 0 ? fitting : named;
  const series = card.vendor === 'nvidia' ? NVIDIA_SERIES : [];
  return {
    family:
      agreed(chips.map(({ family }) => family)) ??
      series.find(([pattern]) => pattern.test(name))?.[1] ??
      null,
    tier: agreed(chips.map(({ tier }) => tier)),
    gpuCores: gpuCores ?? agreed(chips.map((chip) => chip.gpuCores)),
    bandwidthGbs: agreed(chips.map(({ bandwidthGbs }) => bandwidthGbs)),
  };
}

const MB_PER_GB = 1024;
/** Drivers reserve part of the memory. */
const MEMORY_SLACK_GB = 1;

/** Whether the driver's figures match this one of several chips with the same name. */
function fits(chip: Chip, { memoryTotalMb, gpuCores }: Hints): boolean {
  if (chip.memoryGb === null) return gpuCores !== null && chip.gpuCores === gpuCores;
  const gb = memoryTotalMb === null ? NaN : memoryTotalMb / MB_PER_GB;
  return Math.abs(gb - chip.memoryGb) <= MEMORY_SLACK_GB;
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
