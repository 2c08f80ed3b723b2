import { MODELS } from '../../text/en/nouns.ts';
import type { Provider } from '#shared/provider.ts';
import type { StatusReport } from '#shared/status.ts';
import {
  formatAge,
  formatCount,
  formatCountdown,
  formatDuration,
  formatMemory,
  formatMemoryOf,
  formatMoment,
  counted,
} from '../../text/format.ts';
import * as t from '../../text/t.ts';
import type { FactText } from '../../ui/facts.tsx';
import type { ProviderCircuit } from './provider-standing.ts';

const NONE = 'none';

/** Unknown is shown as unknown, never as zero. */
const UNKNOWN = 'unknown';

type Latencies = StatusReport['stats']['providerLatencies'][string];

const MAKER = /^(NVIDIA( GeForce)?|AMD( Radeon)?|Intel(\(R\))?) +/;

export function chipText({ chip, memory_gb }: Pick<Provider, 'chip' | 'memory_gb'>): string {
  const memory = memory_gb === null ? null : formatGb(memory_gb);
  return `${chip?.replace(MAKER, '') ?? 'GPU unknown'} · ${memory ?? 'memory unknown'}`;
}

export function modelText(of: Pick<Provider, 'current_model' | 'models'>): string {
  const { current_model, models } = of;
  const more = models.filter((model) => model !== current_model).length;
  if (current_model === null) return more === 0 ? 'no model' : counted(more, MODELS);
  return more === 0 ? current_model : `${current_model} + ${formatCount(more)}`;
}

/** `41.5`, or a dash if unknown. */
export function speedText(tokensPerSecond: number | null): string {
  if (tokensPerSecond === null) return '–';
  if (tokensPerSecond < 100) return tokensPerSecond.toFixed(1);
  return formatCount(Math.round(tokensPerSecond));
}

export const heartbeatAge = ({ last_heartbeat }: Provider, serverNow: number): string =>
  formatAge(Math.max(0, serverNow - Date.parse(last_heartbeat)));

export function machineFacts(provider: Provider): readonly FactText[] {
  const { host, cpu_cores, chip_family, chip_tier, memory_bandwidth_gbs, gpu_cores } = provider;
  return [
    { label: 'Chip', value: provider.chip ?? UNKNOWN },
    { label: 'Family', value: [chip_family, chip_tier].filter(Boolean).join(', ') || UNKNOWN },
    { label: 'GPU memory', value: gbOr(provider.memory_gb) },
    { label: 'Bandwidth', value: unitOr(memory_bandwidth_gbs, 'GB/s') },
    { label: 'GPU cores', value: gpu_cores === null ? UNKNOWN : formatCount(gpu_cores) },
    { label: 'CPU cores', value: formatCount(cpu_cores.total) },
    { label: 'Memory', value: gbOr(host.memory_gb) },
    { label: 'Platform', value: provider.machine_model ?? host.platform },
    { label: 'Region', value: provider.region ?? 'not set' },
    { label: 'Agent', value: provider.agent_version },
    { label: 'Up', value: formatDuration(provider.raw.uptime_s * 1000) },
  ];
}

/** Figures that the machine reports itself are marked as reported. */
export function servingFacts(provider: Provider, latencies?: Latencies): readonly FactText[] {
  const { totalRequests, successCount, engine_health, decode_tps } = provider;
  const asked =
    totalRequests === 0
      ? NONE
      : `${formatCount(successCount)} of ${formatCount(totalRequests)} answered`;
  return [
    { label: 'Model', value: provider.current_model ?? NONE },
    { label: 'Model files', value: provider.engine_model ?? UNKNOWN },
    {
      label: 'Engine',
      value:
        engine_health.code === 0
          ? engine_health.status
          : `${engine_health.status}, HTTP ${engine_health.code}`,
    },
    { label: 'Speed (reported)', value: unitOr(decode_tps, 'tokens/s') },
    { label: 'Running', value: formatCount(provider.concurrentRequests) },
    { label: 'Requests from this gateway', value: asked },
    { label: 'First token', value: durationOr(latencies?.ewmaTtft ?? provider.ewmaTtft) },
    { label: 'Whole answer', value: durationOr(latencies?.ewmaLatency ?? provider.ewmaLatency) },
    { label: 'Requests (reported)', value: formatCount(provider.requests_served) },
    { label: 'Tokens (reported)', value: formatCount(provider.tokens_generated) },
  ];
}

export function networkFacts(provider: Provider, serverNow: number): readonly FactText[] {
  const { host, heartbeat_count, last_heartbeat_ip } = provider;
  return [
    { label: 'Last report', value: heartbeatAge(provider, serverNow) },
    { label: 'Came from', value: last_heartbeat_ip || UNKNOWN },
    { label: 'Reports', value: formatCount(heartbeat_count) },
    { label: 'Agent’s address', value: provider.agent_url || UNKNOWN },
    { label: 'Host name', value: host.hostname || UNKNOWN },
    { label: 'Tailnet name', value: host.tailnet_hostname ?? NONE },
    { label: 'Tailnet address', value: provider.tailnet_ip || NONE },
  ];
}

const formatGb = (gb: number): string => formatMemory(gb * 1024 ** 3);

const gbOr = (gb: number | null): string => (gb === null ? UNKNOWN : formatGb(gb));

const unitOr = (value: number | null, unit: string): string =>
  value === null ? UNKNOWN : `${speedText(value)} ${unit}`;

const durationOr = (ms: number | null): string =>
  ms === null ? 'not measured yet' : formatDuration(ms);

const gpuWords = t.providers.gpu;

export type GpuDevice = Provider['gpu']['devices'][number];

/** A figure with its share of the maximum. */
export interface Meter {
  readonly label: string;
  readonly text: string;
  /** 0 to 1; null if unknown. */
  readonly share: number | null;
  /** Whether it is near the temperature at which a GPU slows down. */
  readonly isHot?: boolean;
}

const meter = (label: string, text: string, share: number | null = null): Meter => ({
  label,
  text,
  share,
});

export function metersOf(device: GpuDevice): readonly Meter[] {
  const { util_gpu: percent, temperature_c: celsius } = device;
  const { busy, temperature } = gpuWords;
  return [
    memoryMeter(device),
    percent === null ? meter(busy, UNKNOWN) : meter(busy, `${percent}%`, percent / 100),
    celsius === null
      ? meter(temperature, UNKNOWN)
      : {
          // Relative to 100 °C, above the temperature at which a GPU throttles.
          ...meter(temperature, gpuWords.celsius(celsius), Math.min(1, Math.max(0, celsius / 100))),
          isHot: celsius >= HOT_C,
        },
  ];
}

/** Only a hint: each GPU slows down at a temperature of its own, most of them not far above this one. */
const HOT_C = 85;

function memoryMeter({ memory_used_mb: used, memory_total_mb: total }: GpuDevice): Meter {
  const { memory, used: inUse, useUnknown } = gpuWords;
  if (!total) return meter(memory, used === null ? UNKNOWN : inUse(formatMemory(used * MIB)));
  if (used === null) return meter(memory, useUnknown(formatMemory(total * MIB)));
  return meter(memory, formatMemoryOf(used * MIB, total * MIB), Math.min(1, used / total));
}

const MIB = 1024 ** 2;

/** The GPUs of a machine combined, each null if unknown. */
export function gpuFigures({ gpu: { devices } }: Pick<Provider, 'gpu'>) {
  const loads = devices.flatMap(({ util_gpu }) => util_gpu ?? []);
  const heats = devices.flatMap(({ temperature_c }) => temperature_c ?? []);
  const known = devices.flatMap(({ memory_used_mb: usedMb, memory_total_mb: totalMb }) =>
    usedMb === null || !totalMb ? [] : { usedMb, totalMb },
  );
  const usedMb = known.reduce((sum, each) => sum + each.usedMb, 0);
  const totalMb = known.reduce((sum, each) => sum + each.totalMb, 0);
  return {
    /** The load of each GPU that reports it: one busy and one idle GPU are not two at half. */
    loads: loads.map(Math.round),
    /** The load of the busiest in percent: a mean would hide that one is busy and the others are idle. */
    load: loads.length === 0 ? null : Math.max(...loads),
    memory: totalMb === 0 ? null : { usedMb, totalMb },
    /** 0 to 1. */
    memoryShare: totalMb === 0 ? null : usedMb / totalMb,
    temperatureC: heats.length === 0 ? null : Math.max(...heats),
  };
}

/** `41%`, `0 · 97%`, `12 of 24 GB`, `63 °C`; a dash if unknown. */
export function gpuTexts(provider: Pick<Provider, 'gpu'>) {
  const { loads, memory, temperatureC } = gpuFigures(provider);
  return {
    load:
      loads.length === 0
        ? gpuWords.none
        : loads.length > 2
          ? `${Math.min(...loads)}–${Math.max(...loads)}%`
          : `${loads.join(' · ')}%`,
    memory:
      memory === null ? gpuWords.none : formatMemoryOf(memory.usedMb * MIB, memory.totalMb * MIB),
    temperature: temperatureC === null ? gpuWords.none : gpuWords.celsius(temperatureC),
  };
}

/** The gateway's clock, and the age of the report, by which its countdowns have advanced; in milliseconds. */
export interface ReportAge {
  readonly elapsedMs: number;
  readonly serverNow: number;
}

export function circuitFacts(
  circuit: ProviderCircuit | undefined,
  { elapsedMs, serverNow }: ReportAge,
): readonly FactText[] {
  if (!circuit) return [{ label: 'State', value: 'healthy, not used yet' }];
  const at = (time: string | null): string =>
    time === null ? 'never' : formatMoment(Date.parse(time), serverNow);
  return [
    { label: 'State', value: stateText(circuit, elapsedMs) },
    { label: 'Failures in a row', value: formatCount(circuit.consecutiveFails) },
    { label: 'Failed in total', value: formatCount(circuit.fails) },
    { label: 'Answered in total', value: formatCount(circuit.successes) },
    { label: 'Last answer', value: at(circuit.lastSuccessAt) },
    { label: 'Last failure', value: at(circuit.lastFailAt) },
    { label: 'Last error', value: circuit.lastError ?? 'none' },
  ];
}

function stateText({ open, cooldownRemainingMs }: ProviderCircuit, elapsedMs: number): string {
  if (!open) return 'healthy';
  const leftMs = Math.max(0, cooldownRemainingMs - elapsedMs);
  return leftMs === 0 ? 'skipped; retries next' : `skipped; retries in ${formatCountdown(leftMs)}`;
}
