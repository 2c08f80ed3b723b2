import type { Provider } from '#shared/provider.ts';
import type { StatusReport } from '#shared/status.ts';
import { formatAge, formatCount, formatDuration, formatPlural } from '../../text/format.ts';

/** Unknown is shown as unknown, never as zero. */
export const UNKNOWN = 'unknown';

/** A label and what is known under it. */
export interface Fact {
  readonly label: string;
  readonly value: string;
}

type Latencies = StatusReport['stats']['providerLatencies'][string];

/** Makers and families that a chip is known without. */
const MAKER = /^(NVIDIA( GeForce)?|AMD( Radeon)?|Intel(\(R\))?) +/;

/** Chip and memory in a few words. */
export function chipText({ chip, memory_gb }: Pick<Provider, 'chip' | 'memory_gb'>): string {
  const memory = memory_gb === null ? 'memory unknown' : formatGb(memory_gb);
  return `${chip?.replace(MAKER, '') ?? 'GPU unknown'} · ${memory}`;
}

/** The model that is served, and how many more are offered. */
export function modelText({
  current_model,
  models,
}: Pick<Provider, 'current_model' | 'models'>): string {
  const more = models.filter((model) => model !== current_model).length;
  if (current_model === null) return more === 0 ? 'no model' : formatPlural(more, 'model');
  return more === 0 ? current_model : `${current_model} + ${more}`;
}

/** `41.5`, or a dash where it is not known. */
export function speedText(tokensPerSecond: number | null): string {
  if (tokensPerSecond === null) return '–';
  return tokensPerSecond < 100
    ? tokensPerSecond.toFixed(1)
    : formatCount(Math.round(tokensPerSecond));
}

/** Age of the last heartbeat. */
export function heartbeatAge({ last_heartbeat }: Provider, serverNow: number): string {
  return formatAge(Math.max(0, serverNow - Date.parse(last_heartbeat)));
}

export function machineFacts(provider: Provider): readonly Fact[] {
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

/** Figures that the machine reports about itself are marked as reported. */
export function servingFacts(
  provider: Provider,
  latencies: Latencies | undefined,
): readonly Fact[] {
  const { totalRequests, successCount, engine_health, decode_tps } = provider;
  return [
    { label: 'Model', value: provider.current_model ?? 'none' },
    { label: 'Model files', value: provider.engine_model ?? UNKNOWN },
    { label: 'Engine', value: engineText(engine_health) },
    { label: 'Speed, as it reports', value: unitOr(decode_tps, 'tokens/s') },
    { label: 'In flight', value: formatCount(provider.concurrentRequests) },
    {
      label: 'Answered, from here',
      value:
        totalRequests === 0
          ? 'none asked'
          : `${formatCount(successCount)} of ${formatCount(totalRequests)}`,
    },
    { label: 'First token', value: durationOr(latencies?.ewmaTtft ?? provider.ewmaTtft) },
    { label: 'Whole answer', value: durationOr(latencies?.ewmaLatency ?? provider.ewmaLatency) },
    { label: 'Requests, as it reports', value: formatCount(provider.requests_served) },
    { label: 'Tokens, as it reports', value: formatCount(provider.tokens_generated) },
  ];
}

export function networkFacts(provider: Provider, serverNow: number): readonly Fact[] {
  const { host, heartbeat_count, last_heartbeat_ip, trust_level } = provider;
  return [
    { label: 'Last heartbeat', value: heartbeatAge(provider, serverNow) },
    { label: 'Came from', value: last_heartbeat_ip },
    { label: 'Heartbeats', value: formatCount(heartbeat_count) },
    { label: 'Agent’s address', value: provider.agent_url },
    { label: 'Host name', value: host.hostname || UNKNOWN },
    { label: 'Tailnet name', value: host.tailnet_hostname ?? 'none' },
    { label: 'Tailnet address', value: provider.tailnet_ip || 'none' },
    { label: 'Trust', value: trust_level === 'software' ? 'software: alive and able' : 'none yet' },
  ];
}

function engineText({ status, code }: Provider['engine_health']): string {
  return code === 0 ? `${status}, no answer` : `${status}, HTTP ${code}`;
}

function formatGb(gb: number): string {
  return `${gb < 10 ? Number(gb.toFixed(1)) : formatCount(Math.round(gb))} GB`;
}

function gbOr(gb: number | null): string {
  return gb === null ? UNKNOWN : formatGb(gb);
}

function unitOr(value: number | null, unit: string): string {
  return value === null ? UNKNOWN : `${speedText(value)} ${unit}`;
}

function durationOr(ms: number | null): string {
  return ms === null ? 'not measured yet' : formatDuration(ms);
}
