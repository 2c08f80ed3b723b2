import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { CircuitReport, StatusReport, UpstreamReport } from '#shared/status.ts';
import type { Config } from '../../config.ts';
import { maskHeaders, maskSecret, maskUrl } from '../../config/mask.ts';
import { ENV_PREFIX, SETTINGS } from '../../config/settings.ts';
import { isoTime } from '../../platform/dates.ts';
import type { LocalChoice } from '../request/calls.ts';
import { waitMsOf } from '../circuit/breaker.ts';
import type { Circuit } from '../circuit/circuits.ts';
import type { Moment } from '../circuit/moment.ts';
import { circuitReport, skipReports } from '../circuit/report.ts';
import { activeSkips } from '../circuit/skips.ts';
import type { StatsView } from './stats.ts';
import { chatPathOf, localModel } from '../request/upstreams.ts';
import type { Warmup } from '../warmup/warmup-state.ts';

/** What a status report is made of. */
export interface StatusParts {
  readonly config: Config;
  readonly stats: StatsView;
  readonly warmup: Warmup;
  readonly local: LocalChoice;
  readonly circuitAt: (id: UpstreamId) => Circuit;
  readonly now: Moment;
  /** Value of the reader's `X-Gateway-Force-Zero`, `"0"` when absent. */
  readonly forceZeroHeader: string;
}

/** The status report of interface 2.4 to 2.7: values in, value out. */
export function statusReport(parts: StatusParts): StatusReport {
  const { config, stats, warmup, local, circuitAt, now, forceZeroHeader } = parts;
  const { forceZero } = config.routing;
  const zero = forceZero || forceZeroHeader === '1';
  const circuits = mapUpstreams((id) => circuitReport(circuitAt(id).breaker, now));
  return {
    ok: UPSTREAM_IDS.some((id) => canServe(id, parts, zero)),
    timestamp: isoTime(now.wallMs),
    forceZero,
    zero,
    gateway_forceZero_header: forceZeroHeader,
    local: {
      verified_count: 0,
      pending_count: 0,
      failed_count: 0,
      provider: null,
      health: localHealth(parts),
    },
    upstreams: UPSTREAM_IDS.map((id) => upstreamReport(id, parts, circuits[id])),
    circuits,
    stats: {
      totalRequests: stats.totalRequests,
      fallbackCount: stats.fallbackCount,
      perUpstream: mapUpstreams((id) => {
        const { requests, fails, successes } = circuitAt(id).breaker.health;
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

/** Whether an upstream could serve a request now. */
function canServe(id: UpstreamId, parts: StatusParts, zero: boolean): boolean {
  if (!isConfigured(id, parts) || (zero && id !== 'local')) return false;
  const { breaker, skips } = parts.circuitAt(id);
  return waitMsOf(breaker, parts.now) === 0 && !isSkipped(skips, parts.now);
}

function isConfigured(id: UpstreamId, { config, local }: StatusParts): boolean {
  return id === 'local' ? local.kind === 'target' : config[id].baseUrl !== null;
}

/** A model that is missing keeps only requests for that model out. */
function isSkipped(skips: Circuit['skips'], now: Moment): boolean {
  return activeSkips(skips, now).some(({ reason }) => reason !== 'model_not_found');
}

function localHealth(parts: StatusParts): StatusReport['local']['health'] {
  if (!isConfigured('local', parts)) return 'unavailable';
  return canServe('local', parts, true) ? 'ok' : 'degraded';
}

function mapUpstreams<T>(make: (id: UpstreamId) => T): Record<UpstreamId, T> {
  // Every id of the list becomes a key, which fromEntries cannot tell the compiler.
  return Object.fromEntries(UPSTREAM_IDS.map((id) => [id, make(id)])) as Record<UpstreamId, T>;
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
  parts: StatusParts,
  circuit: CircuitReport,
): UpstreamReport {
  const { config, local, now } = parts;
  const skips = skipReports(parts.circuitAt(id).skips, now);
  const { baseUrl, timeoutMs } = config[id];
  const common = {
    id,
    baseUrl: baseUrl === null ? null : maskUrl(baseUrl),
    chatPath: chatPathOf(id),
    model: modelOf(id, config, local) ?? '',
    timeoutMs,
    circuit,
    skips,
    healthy: isConfigured(id, parts) && !circuit.open && skips.length === 0,
  };
  if (id === 'local') {
    return {
      ...common,
      label: DEFAULT_LABELS.local,
      apiKeyEnv: 'none: the Authorization header of the request is forwarded',
      hasKey: false,
      apiKeyPreview: null,
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
