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
} from '../../text/format.ts';
import * as t from '../../text/t.ts';
import type { FactText } from '../../ui/facts.tsx';
import type { ProviderCircuit } from './provider-standing.ts';

const words = t.providers.facts;

/** Unknown is shown as unknown, never as zero. */
const UNKNOWN = words.unknown;

type Latencies = StatusReport['stats']['providerLatencies'][string];

const MAKER = /^(NVIDIA( GeForce)?|AMD( Radeon)?|Intel(\(R\))?) +/;

export function chipText({ chip, memory_gb }: Pick<Provider, 'chip' | 'memory_gb'>): string {
  const memory = memory_gb === null ? null : formatGb(memory_gb);
  return words.chipMemory(chip?.replace(MAKER, '') ?? null, memory);
}

export function modelText(of: Pick<Provider, 'current_model' | 'models'>): string {
  const { current_model, models } = of;
  const more = models.filter((model) => model !== current_model).length;
  if (current_model === null) return more === 0 ? words.noModel : words.models(more);
  return more === 0 ? current_model : words.modelAndMore(current_model, more);
}

/** `41.5`, or a dash if unknown. */
export function speedText(tokensPerSecond: number | null): string {
  if (tokensPerSecond === null) return words.noSpeed;
  if (tokensPerSecond < 100) return tokensPerSecond.toFixed(1);
  return formatCount(Math.round(tokensPerSecond));
}

export const heartbeatAge = ({ last_heartbeat }: Provider, serverNow: number): string =>
  formatAge(Math.max(0, serverNow - Date.parse(last_heartbeat)));

export function machineFacts(provider: Provider): readonly FactText[] {
  const { host, cpu_cores, chip_family, chip_tier, memory_bandwidth_gbs, gpu_cores } = provider;
  return [
    { label: words.chip, value: provider.chip ?? UNKNOWN },
    { label: words.family, value: [chip_family, chip_tier].filter(Boolean).join(', ') || UNKNOWN },
    { label: words.gpuMemory, value: gbOr(provider.memory_gb) },
    { label: words.bandwidth, value: unitOr(memory_bandwidth_gbs, words.bandwidthUnit) },
    { label: words.gpuCores, value: gpu_cores === null ? UNKNOWN : formatCount(gpu_cores) },
    { label: words.cpuCores, value: formatCount(cpu_cores.total) },
    { label: words.memory, value: gbOr(host.memory_gb) },
    { label: words.platform, value: provider.machine_model ?? host.platform },
    { label: words.region, value: provider.region ?? words.notSet },
    { label: words.agent, value: provider.agent_version },
    { label: words.uptime, value: formatDuration(provider.raw.uptime_s * 1000) },
  ];
}

/** Figures that the machine reports itself are marked as reported. */
export function servingFacts(provider: Provider, latencies?: Latencies): readonly FactText[] {
  const { totalRequests, successCount, engine_health, decode_tps } = provider;
  const asked = totalRequests === 0 ? words.none : words.answeredOf(successCount, totalRequests);
  return [
    { label: words.model, value: provider.current_model ?? words.none },
    { label: words.modelFiles, value: provider.engine_model ?? UNKNOWN },
    { label: words.engine, value: words.engineHealth(engine_health.status, engine_health.code) },
    { label: words.speed, value: unitOr(decode_tps, words.speedUnit) },
    { label: words.inFlight, value: formatCount(provider.concurrentRequests) },
    { label: words.answered, value: asked },
    { label: words.firstToken, value: durationOr(latencies?.ewmaTtft ?? provider.ewmaTtft) },
    { label: words.wholeAnswer, value: durationOr(latencies?.ewmaLatency ?? provider.ewmaLatency) },
    { label: words.requests, value: formatCount(provider.requests_served) },
    { label: words.tokens, value: formatCount(provider.tokens_generated) },
  ];
}

export function networkFacts(provider: Provider, serverNow: number): readonly FactText[] {
  const { host, heartbeat_count, last_heartbeat_ip, trust_level } = provider;
  return [
    { label: words.lastHeartbeat, value: heartbeatAge(provider, serverNow) },
    { label: words.cameFrom, value: last_heartbeat_ip || UNKNOWN },
    { label: words.heartbeats, value: formatCount(heartbeat_count) },
    { label: words.agentUrl, value: provider.agent_url || UNKNOWN },
    { label: words.hostName, value: host.hostname || UNKNOWN },
    { label: words.tailnetName, value: host.tailnet_hostname ?? words.none },
    { label: words.tailnetAddress, value: provider.tailnet_ip || words.none },
    { label: words.trust, value: trust_level === 'software' ? words.trusted : words.untrusted },
  ];
}

const formatGb = (gb: number): string => formatMemory(gb * 1024 ** 3);

const gbOr = (gb: number | null): string => (gb === null ? UNKNOWN : formatGb(gb));

const unitOr = (value: number | null, unit: string): string =>
  value === null ? UNKNOWN : words.unit(speedText(value), unit);

const durationOr = (ms: number | null): string =>
  ms === null ? words.notMeasured : formatDuration(ms);

const gpuWords = t.providers.gpu;

export type GpuDevice = Provider['gpu']['devices'][number];

/** A figure with its share of the maximum. */
export interface Meter {
  readonly label: string;
  readonly text: string;
  /** 0 to 1; null if unknown. */
  readonly share: number | null;
  /** Near the temperature at which a GPU slows down. */
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
    percent === null ? meter(busy, UNKNOWN) : meter(busy, gpuWords.percent(percent), percent / 100),
    celsius === null
      ? meter(temperature, UNKNOWN)
      : {
          // Relative to 100 °C, above the temperature at which a GPU throttles.
          ...meter(temperature, gpuWords.celsius(celsius), Math.min(1, Math.max(0, celsius / 100))),
          isHot: celsius >= HOT_C,
        },
  ];
}

/** For the eye alone: each GPU slows down at a temperature of its own, most of them not far above this one. */
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
    /** Of each GPU that reports it: of two, one busy and one idle are not two at half. */
    loads: loads.map(Math.round),
    /** In percent, of the busiest: a mean would hide that one is busy and the others are idle. */
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
    load: loads.length === 0 ? gpuWords.none : gpuWords.percents(loads),
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

const circuitWords = t.providers.circuit;

export function circuitFacts(
  circuit: ProviderCircuit | undefined,
  { elapsedMs, serverNow }: ReportAge,
): readonly FactText[] {
  if (!circuit) return [{ label: circuitWords.state, value: circuitWords.unused }];
  const at = (time: string | null): string =>
    time === null ? circuitWords.never : formatMoment(Date.parse(time), serverNow);
  return [
    { label: circuitWords.state, value: stateText(circuit, elapsedMs) },
    { label: circuitWords.row, value: formatCount(circuit.consecutiveFails) },
    { label: circuitWords.failed, value: formatCount(circuit.fails) },
    { label: circuitWords.answered, value: formatCount(circuit.successes) },
    { label: circuitWords.lastAnswer, value: at(circuit.lastSuccessAt) },
    { label: circuitWords.lastFailure, value: at(circuit.lastFailAt) },
    { label: circuitWords.lastError, value: circuit.lastError ?? circuitWords.noError },
  ];
}

function stateText({ open, cooldownRemainingMs }: ProviderCircuit, elapsedMs: number): string {
  if (!open) return circuitWords.closed;
  const leftMs = Math.max(0, cooldownRemainingMs - elapsedMs);
  return leftMs === 0 ? circuitWords.open : circuitWords.openFor(formatCountdown(leftMs));
}
