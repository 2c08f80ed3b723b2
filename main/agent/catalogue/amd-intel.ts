import { family, type Chip } from './chip.ts';

const RADEON = 'AMD, product page "Specifications"';
const INSTINCT = 'AMD Instinct, data sheet';
const ARC = 'Intel, product specifications (ark.intel.com)';

/** AMD's and Intel's chips that are common for inference. Bandwidth leaves caches out of account. */
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
