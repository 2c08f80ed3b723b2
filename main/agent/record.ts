import type { AgentModel, AgentView, GpuFigures } from '#shared/agent.ts';
import type { AgentRecord } from '#shared/provider.ts';
import { chipFacts } from './chips.ts';
import type { EngineView } from '../engines/adapters/engine-view.ts';
import { byPreference } from '../engines/models.ts';
import type { ServedCounts } from './server/counters.ts';
import { GPU_VENDORS, type GpuDevice, summed } from './telemetry/gpu-device.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import { controlOf } from './engines/tell-engine.ts';

/** What neither driver nor engine reports: the owner's mode and the agent's own counts. */
export interface AgentState extends ServedCounts {
  readonly mode: AgentView['owner']['mode'];
  readonly inFlight: number;
  readonly region: string | null;
  readonly agentVersion: string;
  readonly agentUrl: string;
  readonly uptimeS: number;
  readonly energy: AgentRecord['energy'];
}

/** The record that a heartbeat carries: a pure function of its arguments. */
export function agentRecord(
  telemetry: Telemetry,
  engine: EngineView | null,
  state: AgentState,
): AgentRecord {
  const gpus = gpuPart(telemetry);
  return {
    ...gpus,
    ...enginePart(engine, state, gpus.memory_gb),
    cpu_cores: telemetry.cores,
    machine_model: shortText(telemetry.machineModel),
    status: statusOf(engine, state),
    requests_served: state.requestsServed,
    tokens_generated: state.tokensGenerated,
    host: {
      hostname: telemetry.hostname.slice(0, MAX_CHARS),
      platform: telemetry.platform,
      cpu_total: telemetry.cores.total,
      memory_gb: rounded(telemetry.memoryBytes / BYTES_PER_GB),
      tailnet_hostname: telemetry.tailnet?.hostname ?? null,
    },
    region: state.region,
    agent_version: state.agentVersion,
    tailnet_ip: telemetry.tailnet?.ip ?? '',
    agent_url: state.agentUrl,
    uptime_s: Math.max(0, Math.floor(state.uptimeS)),
    ...(state.energy === undefined ? {} : { energy: state.energy }),
  };
}

/** The cards of the record, for this machine's own metrics. */
export function gpuFigures(telemetry: Telemetry): readonly GpuFigures[] {
  return workingCards(telemetry).map((card, index) => ({
    ...deviceRecord(card, index),
    power_w: card.powerW,
  }));
}

function workingCards({ gpus }: Telemetry): readonly GpuDevice[] {
  return gpus.devices.filter(({ fault }) => fault === null);
}

function gpuPart(telemetry: Telemetry) {
  const cards = workingCards(telemetry);
  const chips = cards.map(chipFacts);
  const totalMb = summed(cards.map(({ memoryTotalMb }) => memoryTotalMb));
  const totalGb = totalMb === null ? null : rounded(totalMb / MB_PER_GB);
  const cores = summed(chips.map(({ gpuCores }) => gpuCores));
  const [card, chip] = [cards[0], chips[0]];
  return {
    chip: shortText(card?.name ?? null),
    chip_family: chip?.family ?? null,
    chip_tier: chip?.tier ?? null,
    gpu_cores: cores,
    memory_gb: totalGb,
    memory_bandwidth_gbs: chip?.bandwidthGbs ?? null,
    gpu: {
      count: cards.length,
      devices: cards.map(deviceRecord),
      total_memory_gb: totalGb,
      gpu_cores: cores,
    },
  };
}

function enginePart(
  engine: EngineView | null,
  { lastModel, decodeTps }: AgentState,
  memoryGb: number | null,
) {
  const memoryBytes = memoryGb === null ? null : memoryGb * BYTES_PER_GB;
  const preferred = byPreference(engine?.facts ?? [], { lastUsed: lastModel, memoryBytes });
  return {
    current_model: preferred[0]?.id ?? null,
    models: [...(engine?.models ?? [])],
    model_facts: preferred.map((model) => ({ ...model })),
    decode_tps: decodeTps,
    engine_health: engine?.health ?? { status: 'no engine found', code: 0 },
    engine_model: shortText(engine?.engineModel ?? null),
  };
}

const MB_PER_GB = 1024;
const BYTES_PER_GB = 1024 ** 3;
/** The longest text that the registry accepts. */
const MAX_CHARS = 1024;

function statusOf(
  engine: EngineView | null,
  { mode, inFlight }: AgentState,
): AgentRecord['status'] {
  if (mode === 'leaving') return 'offline';
  if (mode === 'paused' || mode === 'draining') return mode;
  if (engine?.health.status !== 'ok') return 'degraded';
  return inFlight > 0 || (engine.metrics?.running ?? 0) > 0 ? 'serving' : 'idle';
}

function deviceRecord(card: GpuDevice, index: number): AgentRecord['gpu']['devices'][number] {
  return {
    index,
    name: shortText(card.name) ?? `${GPU_VENDORS[card.vendor].name} GPU`,
    memory_total_mb: count(card.memoryTotalMb),
    memory_used_mb: count(card.memoryUsedMb),
    memory_free_mb: count(card.memoryFreeMb),
    // Drivers have been seen to report more than 100 for a moment.
    util_gpu: count(card.utilGpu, 100),
    util_memory: count(card.utilMemory, 100),
    temperature_c: card.temperatureC,
  };
}

const rounded = (value: number) => Math.round(value * 100) / 100;

const count = (value: number | null, max = Infinity) =>
  value === null ? null : Math.min(max, Math.max(0, Math.round(value)));

const shortText = (text: string | null) => text?.slice(0, MAX_CHARS) ?? null;

export function agentModels(
  engines: readonly EngineView[],
  since: (engine: string, model: string) => number | null,
): readonly AgentModel[] {
  const models = engines.flatMap(({ kind, baseUrl, facts }) =>
    facts.map((fact): AgentModel => ({
      id: fact.id,
      engine: kind,
      baseUrl,
      use: fact.use,
      isRemote: fact.remote === true,
      loaded: fact.loaded,
      loadedAt: since(baseUrl, fact.id),
      sizeBytes: fact.size_bytes,
      vramBytes: fact.vram_bytes ?? null,
      contextLength: fact.context_length,
      canUnload: controlOf(kind) !== null && fact.remote !== true,
    })),
  );
  return models.toSorted((a, b) => Number(b.loaded ?? false) - Number(a.loaded ?? false));
}
