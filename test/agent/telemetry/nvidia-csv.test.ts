import { expect, test } from 'vitest';
import { parseNvidiaRow } from '../../../main/agent/telemetry/nvidia.ts';
import { fixture } from '../fixture.ts';

/** The columns of the recordings. */
const BASIC = [
  'index',
  'uuid',
  'memory.total',
  'memory.used',
  'memory.free',
  'utilization.gpu',
  'utilization.memory',
  'temperature.gpu',
];
const FULL = [...BASIC, 'mig.mode.current', 'compute_cap'];

const parse = (line: string, columns = FULL) => parseNvidiaRow(line, columns, ['name']);
const rows = (name: string, columns = FULL) =>
  fixture(name)
    .trim()
    .split('\n')
    .map((line) => parse(line, columns));

test('a consumer card is read whole, and each value has its source', () => {
  const [card] = rows('nvidia-consumer.csv');
  expect(card).toEqual({
    key: 'GPU-00000000-0000-0000-0000-000000000001',
    vendor: 'nvidia',
    pciAddress: null,
    name: 'NVIDIA GeForce RTX 4080 SUPER',
    memoryTotalMb: 16376,
    memoryUsedMb: 596,
    memoryFreeMb: 15348,
    utilGpu: 0,
    utilMemory: 23,
    temperatureC: 43,
    powerW: null,
    gpuCores: null,
    computeCapability: '8.9',
    isUnified: false,
    fault: null,
    sources: expect.objectContaining({ utilGpu: 'nvidia-smi', computeCapability: 'nvidia-smi' }),
    disagreements: [],
  });
  expect(card?.sources).not.toHaveProperty('powerW');
});

test('a measured zero stays zero', () => {
  expect(rows('nvidia-idle-h200.csv')[0]).toMatchObject({
    memoryUsedMb: 0,
    utilGpu: 0,
    utilMemory: 0,
  });
});

test('cards of one name are told apart', () => {
  const [first, second] = rows('nvidia-datacenter.csv');
  expect(first?.name).toBe(second?.name);
  expect(first?.key).not.toBe(second?.key);
  expect([first?.utilGpu, second?.utilGpu]).toEqual([100, 0]);
});

test('what a card with MIG may not tell is unknown, and its memory is its own', () => {
  const hidden = { utilGpu: null, utilMemory: null, isUnified: false, fault: null };
  expect(rows('nvidia-mig.csv')).toMatchObject([
    { ...hidden, memoryTotalMb: 81559, memoryUsedMb: 59, temperatureC: 42 },
    { ...hidden, memoryTotalMb: null, memoryUsedMb: null, temperatureC: 47 },
  ]);
});

test('a lost card has a fault and no readings; the one beside it is well', () => {
  const [well, lost] = rows('nvidia-lost.csv');
  expect(well?.fault).toBeNull();
  expect(lost).toMatchObject({
    fault: 'GPU is lost',
    memoryTotalMb: null,
    temperatureC: null,
    name: 'NVIDIA GeForce RTX 3090',
  });
});

test.each(['NVIDIA GB10', 'Orin (nvgpu)', 'NVIDIA Thor'])(
  '%s shares the memory of its machine',
  (name) => {
    const row = fixture('nvidia-gb10.csv').trim().replace('NVIDIA GB10', name);
    expect(parse(row)).toMatchObject({
      name,
      isUnified: true,
      memoryTotalMb: null,
      utilGpu: 0,
      fault: null,
    });
  },
);

test.each(['nvidia-basic.csv', 'nvidia-old.csv'])('%s: older drivers are read as well', (name) => {
  expect(rows(name, BASIC)[0]).toMatchObject({
    memoryUsedMb: 0,
    computeCapability: null,
    fault: null,
  });
});

test('what an older driver does not support is unknown', () => {
  expect(rows('nvidia-old.csv', BASIC)[0]).toMatchObject({
    utilGpu: null,
    name: 'GeForce GT 1030',
  });
});

test('a name may hold a comma', () => {
  const row = fixture('nvidia-consumer.csv').trim();
  expect(parse(`${row}, Special`)?.name).toBe('NVIDIA GeForce RTX 4080 SUPER, Special');
});

test.each([
  '',
  'No devices were found',
  'Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error',
  'Unable to determine the device handle for GPU0000:01:00.0: GPU is lost.  Reboot the system.',
  'a, b, c, d, e, f, g, h, i, j, k, l',
  '1, 2, 3',
  '\u0000\u0001\u0002',
])('%j is no row', (line) => {
  expect(parse(line)).toBeNull();
});
