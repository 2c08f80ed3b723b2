import { expect, test } from 'vitest';
import { clamped } from '../../main/registry/change-detection.ts';
import { device, recordOf, startRegistry } from './world.ts';

const devices = (count: number) => Array.from({ length: count }, (_, index) => device(index));
const models = (count: number) => Array.from({ length: count }, (_, index) => `model-${index}`);

test.each([
  ['decode_tps', 5000, 5000],
  ['decode_tps', 5000.1, 5000],
  ['decode_tps', 1e300, 5000],
  ['decode_tps', 0, 0],
  ['decode_tps', null, null],
  ['memory_bandwidth_gbs', 20_000, 20_000],
  ['memory_bandwidth_gbs', 20_001, 20_000],
  ['memory_bandwidth_gbs', null, null],
] as const)('the field %s of %j is believed as %j', (field, claimed, believed) => {
  expect(clamped(recordOf({ [field]: claimed }))[field]).toBe(believed);
});

test('no model takes more joules than a machine can draw for its tokens', () => {
  const energy = {
    idle_w: 1e300,
    models: [
      { model: 'lie', joules: 1.7e308, tokens: 50 },
      { model: 'none', joules: 9, tokens: 0 },
      { model: 'true', joules: 300, tokens: 100 },
    ],
  };
  expect(clamped(recordOf({ energy })).energy).toEqual({
    idle_w: 100_000,
    models: [
      { model: 'lie', joules: 500_000, tokens: 50 },
      { model: 'none', joules: 0, tokens: 0 },
      { model: 'true', joules: 300, tokens: 100 },
    ],
  });
});

test('of a record 64 GPUs and 512 models are believed, and no more', () => {
  const { gpu } = recordOf();
  const huge = recordOf({ models: models(600), gpu: { ...gpu, count: 99, devices: devices(99) } });
  const believed = clamped(huge);
  expect(believed).toMatchObject({ models: models(512), gpu: { count: 64, devices: devices(64) } });
  const full = recordOf({ models: models(512), gpu: { ...gpu, count: 64, devices: devices(64) } });
  expect(clamped(full)).toEqual(full);
});

test('the raw record shows the claims as they were sent, and the record what is believed of them', async () => {
  const { registry, join, beat } = startRegistry();
  const agent = await join();
  await beat(agent, { decode_tps: 9999, memory_bandwidth_gbs: 99_999, models: models(600) });
  expect(registry.get(agent.id)).toMatchObject({
    decode_tps: 5000,
    memory_bandwidth_gbs: 20_000,
    models: models(512),
    raw: { decode_tps: 9999, memory_bandwidth_gbs: 99_999, models: models(600) },
  });
});
