import { type Chip, family } from './chips.ts';

const GEFORCE = 'NVIDIA, "Compare GeForce graphics cards" and the product page';
const LAPTOP = 'NVIDIA, "Compare GeForce laptops"';

/** GeForce cards: cores as on the page, bandwidth as bus width times the data rate given there. */
const GEFORCE_CHIPS: readonly Chip[] = [
  ...family('Blackwell', GEFORCE, [
    ['GeForce RTX 5090', 'high', 21760, 1792],
    ['GeForce RTX 5080', 'high', 10752, 960],
    ['GeForce RTX 5070 Ti', 'high', 8960, 896],
    ['GeForce RTX 5070', 'mid', 6144, 672],
    ['GeForce RTX 5060 Ti', 'mid', 4608, 448],
    ['GeForce RTX 5060', 'low', 3840, 448],
  ]),
  ...family('Blackwell', LAPTOP, [['GeForce RTX 5090 Laptop GPU', 'high', 10496, 896]]),
  ...family('Ada Lovelace', GEFORCE, [
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
  ...family('Ada Lovelace', LAPTOP, [['GeForce RTX 4090 Laptop GPU', 'high', 9728, 576]]),
  ...family('Ampere', GEFORCE, [
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
  ...family('Turing', GEFORCE, [
    ['GeForce RTX 2080 Ti', 'mid', 4352, 616],
    ['GeForce RTX 2080', 'low', 2944, 448],
    ['GeForce RTX 2070', 'low', 2304, 448],
  ]),
];

const DATA_CENTER = 'NVIDIA, data sheet';
const WORKSTATION = 'NVIDIA, RTX professional data sheet';

/** Data-centre and workstation cards, under the names that nvidia-smi prints. */
const PROFESSIONAL_CHIPS: readonly Chip[] = [
  ...family('Blackwell', DATA_CENTER, [
    ['B200', 'high', null, 8000],
    ['GB200', 'high', null, 8000],
    ['GB10', 'high', 6144, 273],
  ]),
  ...family('Blackwell', WORKSTATION, [
    ['RTX PRO 6000 Blackwell Workstation Edition', 'high', 24064, 1792],
    ['RTX PRO 6000 Blackwell Server Edition', 'high', 24064, 1597],
  ]),
  ...family('Hopper', DATA_CENTER, [
    ['H200', 'high', 16896, 4800],
    ['H200 NVL', 'high', 16896, 4800],
    ['H100 80GB HBM3', 'high', 16896, 3350],
    ['H100 PCIe', 'high', 14592, 2000],
    ['H100 NVL', 'high', 16896, 3900],
    ['GH200 480GB', 'high', 16896, 4000],
  ]),
  ...family('Ada Lovelace', DATA_CENTER, [
    ['L40S', 'high', 18176, 864],
    ['L40', 'high', 18176, 864],
    ['L4', 'mid', 7424, 300],
  ]),
  ...family('Ada Lovelace', WORKSTATION, [
    ['RTX 6000 Ada Generation', 'high', 18176, 960],
    ['RTX 4000 Ada Generation', 'mid', 6144, 360],
  ]),
  ...family('Ampere', DATA_CENTER, [
    ['A100-SXM4-80GB', 'high', 6912, 2039],
    ['A100-SXM4-40GB', 'high', 6912, 1555],
    ['A100 80GB PCIe', 'high', 6912, 1935],
    ['A100-PCIE-40GB', 'high', 6912, 1555],
    ['A40', 'high', 10752, 696],
    ['A30', 'high', 3584, 933],
    ['A10', 'mid', 9216, 600],
    ['A10G', 'mid', 9216, 600],
  ]),
  ...family('Ampere', WORKSTATION, [
    ['RTX A6000', 'high', 10752, 768],
    ['RTX A5000', 'high', 8192, 768],
    ['RTX A4000', 'mid', 6144, 448],
  ]),
  ...family('Turing', DATA_CENTER, [['Tesla T4', 'low', 2560, 300]]),
  ...family('Volta', DATA_CENTER, [
    ['Tesla V100-SXM2-32GB', 'mid', 5120, 900],
    ['Tesla V100-SXM2-16GB', 'mid', 5120, 900],
  ]),
];

/** NVIDIA chips that are common for inference. */
export const NVIDIA_CHIPS: readonly Chip[] = [...GEFORCE_CHIPS, ...PROFESSIONAL_CHIPS];

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
export function familyByCapability(capability: string): string | null {
  return FAMILY_BY_CAPABILITY.find(([pattern]) => pattern.test(capability))?.[1] ?? null;
}
