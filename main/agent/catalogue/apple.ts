import { family, type Chip } from './chip.ts';

const SPECS = 'Apple, "Mac technical specifications"';

/** Apple's chips. Where one name was sold with several GPUs, the number of cores tells which it is. */
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
