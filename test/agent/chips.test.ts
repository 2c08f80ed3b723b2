import { expect, test } from 'vitest';
import { chipFacts, CHIPS } from '../../main/agent/chips.ts';

const hints = { vendor: 'nvidia', memoryTotalMb: null, gpuCores: null } as const;

test.each(CHIPS.map((chip) => [chip.name, chip] as const))(
  '%s has figures that a chip can have',
  (_name, { bandwidthGbs, gpuCores, family }) => {
    expect(family).not.toBe('');
    expect(bandwidthGbs ?? 100).toSatisfy((gbs: number) => gbs >= 60 && gbs <= 20_000);
    expect(gpuCores ?? 8).toSatisfy((cores: number) => cores >= 7 && cores <= 30_000);
  },
);

test.each([
  ['NVIDIA GeForce RTX 4090', 'Ada Lovelace', 1008],
  ['GeForce RTX 4090', 'Ada Lovelace', 1008],
  ['NVIDIA GeForce RTX 4090 Laptop GPU', 'Ada Lovelace', 576],
  ['NVIDIA H100 80GB HBM3', 'Hopper', 3350],
  ['NVIDIA GeForce RTX 2060', 'Turing', null],
  ['NVIDIA GeForce RTX 3050 Laptop GPU', 'Ampere', null],
  ['NVIDIA RTX A2000 12GB', 'Ampere', null],
  ['NVIDIA RTX 5000 Ada Generation', 'Ada Lovelace', null],
  ['NVIDIA H20', 'Hopper', null],
  ['NVIDIA RTX PRO 4000 Blackwell', 'Blackwell', null],
  ['Tesla T4', 'Turing', 300],
  ['AMD Radeon(TM) RX 7900 XTX', 'RDNA 3', 960],
  ['AMD Instinct MI300X OAM', 'CDNA 3', 5300],
  ['Intel(R) Arc(TM) B580 Graphics', 'Battlemage', 456],
])('%s is found under the name that its driver gives', (name, family, bandwidthGbs) => {
  expect(chipFacts({ ...hints, name })).toMatchObject({ family, bandwidthGbs });
});

/** As the drivers of such cards were seen to count them (LACT#533, ajean#39, rocm-systems#10274). */
test.each([
  ['AMD Radeon RX 7900 XTX', 96],
  ['AMD Radeon RX 7900 XT', 84],
  ['AMD Radeon RX 7800 XT', 60],
  ['AMD Radeon RX 6900 XT', 80],
  ['AMD Instinct MI350X', 256],
])('%s has the cores of %i compute units', (name, units) => {
  expect(chipFacts({ ...hints, name }).gpuCores).toBe(units * 64);
});

/** As applegpuinfo works it out of the memory's clock (its issues 1, 2, 4, 6, 7, 10, 11). */
test.each([
  ['Apple M1', 8, 68.3],
  ['Apple M1 Pro', 14, 204.8],
  ['Apple M1 Max', 32, 409.6],
  ['Apple M1 Ultra', 48, 819.2],
  ['Apple M2', 10, 102.4],
  ['Apple M2 Max', 38, 409.6],
  ['Apple M3 Max', 40, 409.6],
])(
  'the memory bandwidth of %s with %i cores is known to within 3 %%',
  (name, gpuCores, bandwidthGbs) => {
    const told = chipFacts({ ...hints, name, gpuCores }).bandwidthGbs ?? 0;
    expect(Math.abs(told / bandwidthGbs - 1)).toBeLessThan(0.03);
  },
);

test('a chip of an ambiguous name gets only the facts that all chips of that name share', () => {
  const shared = chipFacts({ ...hints, name: 'Apple M3 Max' });
  expect(shared).toEqual({ family: 'M3', tier: 'high', gpuCores: null, bandwidthGbs: null });
});
