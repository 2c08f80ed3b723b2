import { expect, test } from 'vitest';
import { agentRecordSchema } from '#shared/provider.ts';
import type { EngineView } from '../../main/engines/adapters/engine-view.ts';
import { modelFacts } from '../../main/engines/models.ts';
import { agentRecord, type AgentState } from '../../main/agent/record.ts';
import { type GpuDevice, UNREAD } from '../../main/agent/telemetry/gpu-device.ts';
import { type Telemetry, withHostMemory } from '../../main/agent/telemetry/telemetry.ts';

const GIB = 1024 ** 3;

const CARD: GpuDevice = {
  ...UNREAD,
  key: 'GPU-1',
  vendor: 'nvidia',
  name: 'NVIDIA GeForce RTX 4090',
  memoryTotalMb: 24564,
  memoryUsedMb: 0,
  memoryFreeMb: 24564,
  utilGpu: 0,
  utilMemory: 0,
  temperatureC: 41,
};

function machine(...devices: GpuDevice[]): Telemetry {
  return {
    gpus: { state: 'reading', devices, problems: [] },
    cores: { total: 32, performance: 32, efficiency: 0 },
    machineModel: null,
    hostname: 'tower',
    platform: 'linux',
    memoryBytes: 128 * GIB,
    tailnet: null,
  };
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
  decodeTps: 30,
};

const STATE: AgentState = {
  mode: 'on',
  inFlight: 0,
  requestsServed: 17,
  tokensGenerated: 5120,
  decodeTps: null,
  lastModel: null,
  region: null,
  agentVersion: '0.1.0',
  agentUrl: 'http://192.168.1.20:3001',
  uptimeS: 86_400.9,
  energy: undefined,
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
  expect(record.gpu.devices[0]).toMatchObject({
    name: 'NVIDIA GPU',
    memory_used_mb: null,
    util_gpu: 0,
  });
  expect(record.engine_health).toEqual({ status: 'no engine found', code: 0 });
});

test('a GPU that shares the machine’s memory has that memory in its record', () => {
  const memory = { totalBytes: 128 * GIB, availableBytes: 100 * GIB, source: 'node:os' };
  const shared = (part: Pick<GpuDevice, 'vendor' | 'name'> & Partial<GpuDevice>) =>
    machine(withHostMemory({ ...UNREAD, key: 'k', isUnified: true, ...part }, memory));
  const spark = shared({ vendor: 'nvidia', name: 'GB10' });
  expect(agentRecord(spark, ENGINE, STATE).gpu.devices[0]).toMatchObject({
    memory_used_mb: 28 * 1024,
    memory_free_mb: 100 * 1024,
  });
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
