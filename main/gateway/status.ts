import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { CircuitReport, StatusReport, UpstreamReport } from '#shared/status.ts';
import { ENV_PREFIX, type Config } from '../config.ts';
import { maskHeaders, maskSecret, maskUrl } from '../config/mask.ts';
import { SETTINGS } from '../config/settings.ts';
import { isoTime } from '../platform/dates.ts';
import type { LocalChoice } from './calls.ts';
import type { HealthRecord } from './health-record.ts';
import type { StatsView } from './stats.ts';
import { chatPathOf, localModel } from './upstreams.ts';
import type { Warmup } from './warmup-state.ts';

/** What a status report is made of. */
export interface StatusParts {
  readonly config: Config;
  readonly stats: StatsView;
  readonly warmup: Warmup;
  readonly local: LocalChoice;
  /** Wall-clock milliseconds since the epoch. */
  readonly nowMs: number;
  /** Value of the reader's `X-Gateway-Force-Zero`, `"0"` when absent. */
  readonly forceZeroHeader: string;
}

/** The status report of interface 2.4 to 2.7: values in, value out. */
export function statusReport(parts: StatusParts): StatusReport {
  const { config, stats, warmup, local, nowMs, forceZeroHeader } = parts;
  const { forceZero } = config.routing;
  const zero = forceZero || forceZeroHeader === '1';
  const circuits = mapUpstreams((id) => circuitReport(stats.records[id]));
  return {
    ok: canServe(config, local, zero),
    timestamp: isoTime(nowMs),
    forceZero,
    zero,
    gateway_forceZero_header: forceZeroHeader,
    local: {
      verified_count: 0,
      pending_count: 0,
      failed_count: 0,
      provider: null,
      health: local.kind === 'target' ? 'ok' : 'unavailable',
    },
    upstreams: UPSTREAM_IDS.map((id) => upstreamReport(id, parts, circuits[id])),
    circuits,
    stats: {
      totalRequests: stats.totalRequests,
      fallbackCount: stats.fallbackCount,
      perUpstream: mapUpstreams((id) => {
        const { requests, fails, successes } = stats.records[id];
        return { requests, fails, successes };
      }),
      circuits,
      providerCircuits: {},
      providerLatencies: {},
      config: { ...config.circuit },
    },
    ondemand_warmup: warmup.state,
    ondemand_warmup_detail: {
      state: warmup.state,
      lastWarmupAt: warmup.lastWarmupAt === null ? null : isoTime(warmup.lastWarmupAt),
      lastResult: warmup.lastResult,
      durationMs: warmup.durationMs,
    },
    config: {
      order: [...UPSTREAM_IDS],
      description: describeRouting(config),
      timeouts: mapUpstreams((id) => config[id].timeoutMs),
      models: mapUpstreams((id) => modelOf(id, config, local)),
      env_hint: ENV_HINTS,
    },
    hint: 'Each chat response says in X-Gateway-Upstream who served it and in X-Gateway-Fallback-Reason why others did not.',
  };
}

/** Some upstream could serve a request now: what `/readyz` and `ok` say. */
export function canServe(config: Config, local: LocalChoice, zero: boolean): boolean {
  if (local.kind === 'target') return true;
  return !zero && UPSTREAM_IDS.some((id) => id !== 'local' && config[id].baseUrl !== null);
}

function mapUpstreams<T>(make: (id: UpstreamId) => T): Record<UpstreamId, T> {
  // Every id of the list becomes a key, which fromEntries cannot tell the compiler.
  return Object.fromEntries(UPSTREAM_IDS.map((id) => [id, make(id)])) as Record<UpstreamId, T>;
}

function circuitReport(record: HealthRecord): CircuitReport {
  const time = (ms: number | null) => (ms === null ? null : isoTime(ms));
  return {
    fails: record.fails,
    successes: record.successes,
    failUntil: null,
    lastError: record.lastError,
    lastFailAt: time(record.lastFailAt),
    lastSuccessAt: time(record.lastSuccessAt),
    consecutiveFails: record.consecutiveFails,
    ewmaTtft: record.ttft === null ? null : Math.round(record.ttft.value),
    lastTtftMs: record.lastTtftMs,
    consecutiveSlow: record.consecutiveSlow,
    open: false,
    cooldownRemainingMs: 0,
  };
}

const DEFAULT_LABELS: Readonly<Record<UpstreamId, string>> = {
  local: 'Local',
  hosted_a: 'Hosted A',
  hosted_b: 'Hosted B',
  hosted_c: 'Hosted C',
  ondemand: 'On demand',
};

function upstreamReport(
  id: UpstreamId,
  { config, local }: StatusParts,
  circuit: CircuitReport,
): UpstreamReport {
  const { baseUrl, timeoutMs } = config[id];
  const common = {
    id,
    baseUrl: baseUrl === null ? null : maskUrl(baseUrl),
    chatPath: chatPathOf(id),
    model: modelOf(id, config, local) ?? '',
    timeoutMs,
    circuit,
    skips: [],
  };
  if (id === 'local') {
    return {
      ...common,
      label: DEFAULT_LABELS.local,
      apiKeyEnv: 'none: the Authorization header of the request is forwarded',
      hasKey: false,
      apiKeyPreview: null,
      healthy: local.kind === 'target',
    };
  }
  const { label, apiKey, headers } = config[id];
  return {
    ...common,
    label: label ?? DEFAULT_LABELS[id],
    apiKeyEnv: ENV_PREFIX + SETTINGS[id].apiKey.env,
    hasKey: apiKey !== null,
    apiKeyPreview: apiKey === null ? null : maskSecret(apiKey),
    ...(Object.keys(headers).length === 0 ? {} : { headers: maskHeaders(headers) }),
    healthy: baseUrl !== null,
  };
}

function modelOf(id: UpstreamId, config: Config, local: LocalChoice): string | null {
  if (id !== 'local') return config[id].model;
  return local.kind === 'target' ? localModel(local.target, null) : null;
}

function describeRouting(config: Config): string {
  const seconds = (id: UpstreamId) => `${config[id].timeoutMs} ms`;
  const warm = config.ondemand.warmup
    ? 'when it fails, start warming ondemand in parallel'
    : 'warm-up of ondemand is switched off';
  return (
    `Try local (${seconds('local')}); ${warm}; ` +
    `then hosted_a (${seconds('hosted_a')}), hosted_b (${seconds('hosted_b')}), hosted_c (${seconds('hosted_c')}) in turn; ` +
    `when all fail, wait for ondemand (${seconds('ondemand')}).`
  );
}

function names(settings: object): string {
  return Object.values(settings as Record<string, { readonly env: string }>)
    .map(({ env }) => ENV_PREFIX + env)
    .join(', ');
}

/** Which variables configure what (interface 2.7), from the settings table itself. */
const ENV_HINTS: Readonly<Record<string, string>> = {
  ...mapUpstreams((id) => names(SETTINGS[id])),
  thresholds: names(SETTINGS.circuit),
};
