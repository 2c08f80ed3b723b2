import type { AgentRecord } from '#shared/provider.ts';

/** What is kept of an agent's lists (design 8). */
const MAX_GPUS = 64;
const MAX_MODELS = 512;
/** No machine does more; beyond it a claim is not believed. */
const MAX_DECODE_TPS = 5000;
const MAX_BANDWIDTH_GBS = 20_000;

/** The record with its lists cut to what is kept. */
export function capped(record: AgentRecord): AgentRecord {
  const { models, gpu } = record;
  if (models.length <= MAX_MODELS && gpu.devices.length <= MAX_GPUS) return record;
  return {
    ...record,
    models: models.slice(0, MAX_MODELS),
    gpu: { ...gpu, devices: gpu.devices.slice(0, MAX_GPUS) },
  };
}

/** The record with its claims cut to what is believed; `raw` keeps them as they were sent. */
export function clamped(record: AgentRecord): AgentRecord {
  const kept = capped(record);
  return {
    ...kept,
    decode_tps: atMost(MAX_DECODE_TPS, kept.decode_tps),
    memory_bandwidth_gbs: atMost(MAX_BANDWIDTH_GBS, kept.memory_bandwidth_gbs),
    gpu: { ...kept.gpu, count: Math.min(MAX_GPUS, kept.gpu.count) },
  };
}

function atMost(limit: number, value: number | null): number | null {
  return value === null ? null : Math.min(limit, value);
}
