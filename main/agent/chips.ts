/** How suitable a chip is for inference: by memory bandwidth, which limits decoding, and by memory size. */
type ChipTier = 'low' | 'mid' | 'high';

/** Data that vendors publish and no driver reports. */
interface Chip {
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
function chipFamily(name: string, source: string, rows: readonly ChipRow[]): readonly Chip[] {
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
const AMD_INTEL_CHIPS: readonly Chip[] = [
  ...chipFamily('RDNA 4', RADEON, [
    ['Radeon RX 9070 XT', 'mid', 4096, 640],
    ['Radeon RX 9070', 'mid', 3584, 640],
    ['Radeon AI PRO R9700', 'high', 4096, 640],
  ]),
  ...chipFamily('RDNA 3', RADEON, [
    ['Radeon RX 7900 XTX', 'high', 6144, 960],
    ['Radeon RX 7900 XT', 'high', 5376, 800],
    ['Radeon RX 7800 XT', 'mid', 3840, 624],
    ['Radeon RX 7600 XT', 'mid', 2048, 288],
    ['Radeon PRO W7900', 'high', 6144, 864],
  ]),
  ...chipFamily('RDNA 3.5', RADEON, [['Radeon 8060S', 'mid', 2560, 256]]),
  ...chipFamily('RDNA 2', RADEON, [
    ['Radeon RX 6900 XT', 'mid', 5120, 512],
    ['Radeon RX 6800 XT', 'mid', 4608, 512],
  ]),
  ...chipFamily('CDNA 4', INSTINCT, [
    ['Instinct MI350X', 'high', 16384, 8000],
    ['Instinct MI355X', 'high', 16384, 8000],
  ]),
  ...chipFamily('CDNA 3', INSTINCT, [
    ['Instinct MI300X', 'high', 19456, 5300],
    ['Instinct MI325X', 'high', 19456, 6000],
  ]),
  ...chipFamily('CDNA 2', INSTINCT, [['Instinct MI210', 'high', 6656, 1638]]),
  ...chipFamily('Battlemage', ARC, [
    ['Arc B580', 'mid', 2560, 456],
    ['Arc B570', 'low', 2304, 380],
  ]),
  ...chipFamily('Alchemist', ARC, [['Arc A770', 'mid', 4096, 560]]),
];

const SPECS = 'Apple, "Mac technical specifications"';

/** Apple's chips. If one name was sold with several GPUs, the number of cores distinguishes them. */
const APPLE_CHIPS: readonly Chip[] = [
  ...chipFamily('M1', SPECS, [
    ['M1', 'low', null, 68],
    ['M1 Pro', 'mid', null, 200],
    ['M1 Max', 'high', null, 400],
    ['M1 Ultra', 'high', null, 800],
  ]),
  ...chipFamily('M2', SPECS, [
    ['M2', 'low', null, 100],
    ['M2 Pro', 'mid', null, 200],
    ['M2 Max', 'high', null, 400],
    ['M2 Ultra', 'high', null, 800],
  ]),
  ...chipFamily('M3', SPECS, [
    ['M3', 'low', null, 100],
    ['M3 Pro', 'mid', null, 150],
    ['M3 Max', 'high', 30, 300],
    ['M3 Max', 'high', 40, 400],
    ['M3 Ultra', 'high', null, 819],
  ]),
  ...chipFamily('M4', SPECS, [
    ['M4', 'low', null, 120],
    ['M4 Pro', 'mid', null, 273],
    ['M4 Max', 'high', 32, 410],
    ['M4 Max', 'high', 40, 546],
  ]),
  ...chipFamily('M5', SPECS, [['M5', 'mid', null, 153]]),
];

const GEFORCE = 'NVIDIA, "Compare GeForce graphics cards" and the product page';
const LAPTOP = 'NVIDIA, "Compare GeForce laptops"';

/** GeForce cards: cores as on the page, bandwidth as bus width times the data rate given there. */
const GEFORCE_CHIPS: readonly Chip[] = [
  ...chipFamily('Blackwell', GEFORCE, [
    ['GeForce RTX 5090', 'high', 21760, 1792],
    ['GeForce RTX 5080', 'high', 10752, 960],
    ['GeForce RTX 5070 Ti', 'high', 8960, 896],
    ['GeForce RTX 5070', 'mid', 6144, 672],
    ['GeForce RTX 5060 Ti', 'mid', 4608, 448],
    ['GeForce RTX 5060', 'low', 3840, 448],
  ]),
  ...chipFamily('Blackwell', LAPTOP, [['GeForce RTX 5090 Laptop GPU', 'high', 10496, 896]]),
  ...chipFamily('Ada Lovelace', GEFORCE, [
    ['GeForce RTX 4090', 'high', 16384, 1008],
    ['GeForce RTX 4080 SUPER', 'high', 10240, 736],
    ['GeForce RTX 4080', 'high', 9728, 717],
    ['GeForce RTX 4070 Ti SUPER', 'high', 8448, 672],
    ['GeForce RTX 4070 Ti', 'mid', 7680, 504],
    ['GeForce RTX 4070 SUPER', 'mid', 7168, 504],
    ['GeForce RTX 4070', 'mid', 5888, 504],
    ['GeForce RTX 4060 Ti', 'mid', 4352, 288],
    ['GeForce RTX 4060', 'low', 3072, 272],
  ]),
  ...chipFamily('Ada Lovelace', LAPTOP, [['GeForce RTX 4090 Laptop GPU', 'high', 9728, 576]]),
  ...chipFamily('Ampere', GEFORCE, [
    ['GeForce RTX 3090 Ti', 'high', 10752, 1008],
    ['GeForce RTX 3090', 'high', 10496, 936],
    ['GeForce RTX 3080 Ti', 'mid', 10240, 912],
    ['GeForce RTX 3080', 'mid', 8960, 912, 12],
    ['GeForce RTX 3080', 'mid', 8704, 760, 10],
    ['GeForce RTX 3070 Ti', 'mid', 6144, 608],
    ['GeForce RTX 3070', 'mid', 5888, 448],
    ['GeForce RTX 3060 Ti', 'mid', 4864, 448],
    ['GeForce RTX 3060', 'mid', 3584, 360, 12],
    ['GeForce RTX 3060', 'low', 3584, 240, 8],
  ]),
  ...chipFamily('Turing', GEFORCE, [
    ['GeForce RTX 2080 Ti', 'mid', 4352, 616],
    ['GeForce RTX 2080', 'low', 2944, 448],
    ['GeForce RTX 2070', 'low', 2304, 448],
  ]),
];

const DATA_CENTER = 'NVIDIA, data sheet';
const WORKSTATION = 'NVIDIA, RTX professional data sheet';

/** Data-centre and workstation cards, under the names that nvidia-smi prints. */
const PROFESSIONAL_CHIPS: readonly Chip[] = [
  ...chipFamily('Blackwell', DATA_CENTER, [
    ['B200', 'high', null, 8000],
    ['GB200', 'high', null, 8000],
    ['GB10', 'high', 6144, 273],
  ]),
  ...chipFamily('Blackwell', WORKSTATION, [
    ['RTX PRO 6000 Blackwell Workstation Edition', 'high', 24064, 1792],
    ['RTX PRO 6000 Blackwell Server Edition', 'high', 24064, 1597],
  ]),
  ...chipFamily('Hopper', DATA_CENTER, [
    ['H200', 'high', 16896, 4800],
    ['H200 NVL', 'high', 16896, 4800],
    ['H100 80GB HBM3', 'high', 16896, 3350],
    ['H100 PCIe', 'high', 14592, 2000],
    ['H100 NVL', 'high', 16896, 3900],
    ['GH200 480GB', 'high', 16896, 4000],
  ]),
  ...chipFamily('Ada Lovelace', DATA_CENTER, [
    ['L40S', 'high', 18176, 864],
    ['L40', 'high', 18176, 864],
    ['L4', 'mid', 7424, 300],
  ]),
  ...chipFamily('Ada Lovelace', WORKSTATION, [
    ['RTX 6000 Ada Generation', 'high', 18176, 960],
    ['RTX 4000 Ada Generation', 'mid', 6144, 360],
  ]),
  ...chipFamily('Ampere', DATA_CENTER, [
    ['A100-SXM4-80GB', 'high', 6912, 2039],
    ['A100-SXM4-40GB', 'high', 6912, 1555],
    ['A100 80GB PCIe', 'high', 6912, 1935],
    ['A100-PCIE-40GB', 'high', 6912, 1555],
    ['A40', 'high', 10752, 696],
    ['A30', 'high', 3584, 933],
    ['A10', 'mid', 9216, 600],
    ['A10G', 'mid', 9216, 600],
  ]),
  ...chipFamily('Ampere', WORKSTATION, [
    ['RTX A6000', 'high', 10752, 768],
    ['RTX A5000', 'high', 8192, 768],
    ['RTX A4000', 'mid', 6144, 448],
  ]),
  ...chipFamily('Turing', DATA_CENTER, [['Tesla T4', 'low', 2560, 300]]),
  ...chipFamily('Volta', DATA_CENTER, [
    ['Tesla V100-SXM2-32GB', 'mid', 5120, 900],
    ['Tesla V100-SXM2-16GB', 'mid', 5120, 900],
  ]),
];

const NVIDIA_CHIPS: readonly Chip[] = [...GEFORCE_CHIPS, ...PROFESSIONAL_CHIPS];

/** NVIDIA, "CUDA GPU Compute Capability"; the narrowest pattern first. */
const FAMILY_BY_CAPABILITY: readonly (readonly [RegExp, string])[] = [
  [/^1[0-2]\./, 'Blackwell'],
  [/^9\./, 'Hopper'],
  [/^8\.9$/, 'Ada Lovelace'],
  [/^8\./, 'Ampere'],
  [/^7\.5$/, 'Turing'],
  [/^7\./, 'Volta'],
  [/^6\./, 'Pascal'],
  [/^5\./, 'Maxwell'],
];

/** For chips that are in no table; null for an unknown capability. */
function familyByCapability(capability: string): string | null {
  return FAMILY_BY_CAPABILITY.find(([pattern]) => pattern.test(capability))?.[1] ?? null;
}

export const CHIPS: readonly Chip[] = [...NVIDIA_CHIPS, ...AMD_INTEL_CHIPS, ...APPLE_CHIPS];

interface ChipHints {
  readonly name: string | null;
  readonly memoryMb: number | null;
  readonly gpuCores: number | null;
  readonly computeCapability: string | null;
}

/** Null means unknown; nothing is guessed. */
interface ChipFacts {
  readonly family: string | null;
  readonly tier: ChipTier | null;
  readonly gpuCores: number | null;
  readonly bandwidthGbs: number | null;
}

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
