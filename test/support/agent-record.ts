import type { AgentRecord } from '#shared/provider.ts';

/** What the agent of a machine with one GPU reports while it serves, with some fields as one wants them. */
export function agentRecord(over: Partial<AgentRecord> = {}): AgentRecord {
  return {
    chip: 'NVIDIA GeForce RTX 4090',
    chip_family: 'Ada Lovelace',
    chip_tier: 'high',
    cpu_cores: { total: 32, performance: 32, efficiency: 0 },
    gpu_cores: 16_384,
    memory_gb: 24,
    memory_bandwidth_gbs: 1008,
    current_model: 'qwen3-32b',
    models: ['qwen3-32b'],
    status: 'serving',
    requests_served: 17,
    tokens_generated: 5120,
    machine_model: null,
    decode_tps: 41.5,
    gpu: { count: 1, devices: [gpuDevice()], total_memory_gb: 24, gpu_cores: 16_384 },
    host: {
      hostname: 'tower',
      platform: 'linux',
      cpu_total: 32,
      memory_gb: 128,
      tailnet_hostname: null,
    },
    engine_health: { status: 'ok', code: 200 },
    engine_model: 'Qwen3-32B-Q4_K_M.gguf',
    region: null,
    agent_version: '0.1.0',
    tailnet_ip: '',
    agent_url: 'http://192.168.1.20:3001',
    uptime_s: 86_400,
    ...over,
  };
}

type GpuDevice = AgentRecord['gpu']['devices'][number];

/** The GPU of such a machine. */
export function gpuDevice(over: Partial<GpuDevice> = {}): GpuDevice {
  return {
    index: 0,
    name: 'NVIDIA GeForce RTX 4090',
    memory_total_mb: 24_564,
    memory_used_mb: 19_000,
    memory_free_mb: 5564,
    util_gpu: 3,
    util_memory: 1,
    temperature_c: 41,
    ...over,
  };
}
