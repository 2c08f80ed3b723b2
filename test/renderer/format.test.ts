import { expect, test } from 'vitest';
import {
  formatFileSize,
  formatMemory,
  formatMemoryOf,
  formatMoney,
} from '../../renderer/text/format.ts';

const MIB = 1024 ** 2;

test.each([
  [0, '0 MB'],
  [1, '1 MB'],
  [11_328_032, '11 MB'],
  [999_400_000, '999 MB'],
  [999_600_000, '1 GB'],
  [4_920_000_000, '4.9 GB'],
  [99_940_000_000, '99.9 GB'],
  [99_960_000_000, '100 GB'],
  [1_340_000_000_000, '1,340 GB'],
])('a file of %d bytes has %s', (bytes, text) => {
  expect(formatFileSize(bytes)).toBe(text);
});

test.each([
  [24_564, '24 GB'],
  [143_771, '140 GB'],
  [1536, '1.5 GB'],
  [1023, '1,023 MB'],
  [512, '512 MB'],
])('memory of %d MiB is that of a GPU of %s', (mib, text) => {
  expect(formatMemory(mib * MIB)).toBe(text);
});

test.each([
  [12_282, 24_564, '12 of 24 GB'],
  [24_100, 24_564, '23.5 of 24 GB'],
  [300, 24_564, '300 MB of 24 GB'],
  [0, 512, '0 of 512 MB'],
  [0, 24_564, '0 of 24 GB'],
])('%d of %d MiB in use is %s', (used, total, text) => {
  expect(formatMemoryOf(used * MIB, total * MIB)).toBe(text);
});

test.for([
  [0, '0.00 EUR'],
  [1_234, '0.0000012 EUR'],
  [-6_400_000, '-0.0064 EUR'],
  [402_000_000, '0.40 EUR'],
] as const)('%i billionths read as %s', ([nano, text]) => {
  expect(formatMoney(nano, 'EUR')).toBe(text);
});
