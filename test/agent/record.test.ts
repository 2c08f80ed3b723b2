import { expect, test } from 'vitest';
import { agentRecordSchema } from '#shared/provider.ts';
import type { EngineView } from '../../main/engines/adapters/engine-view.ts';
import { modelFacts } from '../../main/engines/models.ts';
import { agentRecord } from '../../main/agent/record.ts';
import { type GpuDevice, UNREAD } from '../../main/agent/telemetry/gpu-device.ts';
import { type Telemetry, withHostMemory } from '../../main/agent/telemetry/telemetry.ts';
import { AGENT_STATE as STATE, CARD as GPU, setTelemetry } from '../support/agent.ts';

const GIB = 1024 ** 3;

const CARD: GpuDevice = { ...GPU, memoryUsedMb: 0, memoryFreeMb: 24_564, utilMemory: 0 };

function machine(...devices: GpuDevice[]): Telemetry {
  const { now } = setTelemetry();
  return { ...now, memoryBytes: 128 * GIB, gpus: { ...now.gpus, devices } };
}

const ENGINE: EngineView = {
  kind: 'ollama',
  baseUrl: 'http://127.0.0.1:11434',
  health: { status: 'ok', code: 200 },
  models: ['a', 'b'],
  loaded: ['b'],
  currentModel: 'b',
  facts: [modelFacts('a', { loaded: false }), modelFacts('b', { loaded: true })],
  engineModel: 'b',
  metrics: null,
};

test('a record is exactly what the registry accepts', () => {
  const record = agentRecord(machine(CARD), ENGINE, STATE);
  expect(agentRecordSchema.strict().parse(record)).toEqual(record);
  expect(record).toMatchObject({
    chip: 'NVIDIA GeForce RTX 4090',
    chip_family: 'Ada Lovelace',
    chip_tier: 'high',
    gpu_cores: 16384,
    memory_gb: 23.99,
    memory_bandwidth_gbs: 1008,
    gpu: { count: 1, devices: [{ memory_used_mb: 0, util_gpu: 0, temperature_c: 41 }] },
    host: { memory_gb: 128, tailnet_hostname: null },
    tailnet_ip: '',
    uptime_s: 86_400,
  });
});

test('a record holds null for what is unknown, and 0 for what is zero', () => {
  const record = agentRecord(machine({ ...CARD, name: null, memoryUsedMb: null }), null, STATE);
  expect(record).toMatchObject({ chip: null, chip_tier: null, current_model: null, models: [] });
  const device = record.gpu.devices[0];
  expect(device).toMatchObject({ name: 'NVIDIA GPU', memory_used_mb: null, util_gpu: 0 });
  expect(record.engine_health).toEqual({ status: 'no engine found', code: 0 });
});

test('a GPU that shares the machine’s memory has that memory in its record', () => {
  const memory = { totalBytes: 128 * GIB, availableBytes: 100 * GIB, source: 'node:os' };
  const shared = (part: Pick<GpuDevice, 'vendor' | 'name'> & Partial<GpuDevice>) =>
    machine(withHostMemory({ ...UNREAD, key: 'k', isUnified: true, ...part }, memory));
  const spark = shared({ vendor: 'nvidia', name: 'GB10' });
  const device = agentRecord(spark, ENGINE, STATE).gpu.devices[0];
  expect(device).toMatchObject({ memory_used_mb: 28 * 1024, memory_free_mb: 100 * 1024 });
  const part = { memoryTotalMb: 8128, memoryUsedMb: 199, memoryFreeMb: 7929 };
  const told = (vendor: GpuDevice['vendor'], more: Partial<GpuDevice> = {}) =>
    agentRecord(shared({ vendor, name: 'N1X', ...part, ...more }), ENGINE, STATE).gpu.devices[0];
  expect(told('nvidia')).toMatchObject({ memory_total_mb: 128 * 1024, memory_used_mb: 28 * 1024 });
  // In WSL, which has a part of the machine's memory, the driver tells more.
  const most = { memoryTotalMb: 200 * 1024 };
  expect(told('nvidia', most)).toMatchObject({ memory_total_mb: 200 * 1024, memory_used_mb: 199 });
  // Its driver tells how much of it the chip may take.
  expect(told('amd')).toMatchObject({ memory_total_mb: 8128, memory_used_mb: 199 });
  const lost = shared({ vendor: 'nvidia', name: 'GB10', fault: 'GPU is lost' });
  expect(agentRecord(lost, ENGINE, STATE).gpu.count).toBe(0);
});

test.each([
  [{ mode: 'leaving' }, {}, 'offline'],
  [{ mode: 'paused' }, {}, 'paused'],
  [{ mode: 'draining', inFlight: 2 }, {}, 'draining'],
  [{}, { health: { status: 'unreachable', code: 0 } }, 'degraded'],
  [{}, { health: { status: 'loading', code: 503 } }, 'degraded'],
  [{ inFlight: 1 }, {}, 'serving'],
  [{}, { metrics: { running: 1, generatedTokens: null } }, 'serving'],
  [{}, {}, 'idle'],
] as const)(
  'a machine in the state %j with the engine %j has the status %s',
  (state, engine, status) => {
    const record = agentRecord(machine(CARD), { ...ENGINE, ...engine }, { ...STATE, ...state });
    expect(record.status).toBe(status);
  },
);

test.each([
  ['the loaded one', ['b'], 'a', 'b'],
  ['the last used of several loaded ones', ['b', 'a'], 'a', 'a'],
  ['the last used one where none is loaded', [], 'b', 'b'],
  ['never one that is not on offer', [], 'gone', 'a'],
  ['the first on offer where nothing else is known', null, null, 'a'],
] as const)('the current model is %s', (_what, loaded, lastModel, expected) => {
  const isLoaded = (id: string) => loaded?.some((each) => each === id) ?? null;
  const facts = ['a', 'b'].map((id) => modelFacts(id, { loaded: isLoaded(id) }));
  const engine = { ...ENGINE, loaded, facts };
  expect(agentRecord(machine(CARD), engine, { ...STATE, lastModel }).current_model).toBe(expected);
});

test('a record corrects readings that no card can have', () => {
  const record = agentRecord(machine({ ...CARD, utilGpu: 101, memoryUsedMb: 1.5 }), ENGINE, STATE);
  expect(record.gpu.devices[0]).toMatchObject({ util_gpu: 100, memory_used_mb: 2 });
});
