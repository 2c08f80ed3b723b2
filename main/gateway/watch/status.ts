import { mapUpstreams, UPSTREAM_IDS } from '#shared/ids.ts';
import type { LocalProvider } from '#shared/provider.ts';
import type { StatusReport } from '#shared/status.ts';
import type { Config } from '../../config.ts';
import { isoTime } from '../../platform/dates.ts';
import type { Circuit } from '../circuit/circuits.ts';
import type { Moment } from '../circuit/moment.ts';
import { circuitReport, providerCircuitReport } from '../circuit/report.ts';
import type { LocalChoice } from '../request/calls.ts';
import type { Warmup } from '../warmup/warmup-state.ts';
import type { Latency } from './latencies.ts';
import { canServe, localHealth, localPick } from './serving.ts';
import type { StatsView } from './stats.ts';
import { modelOf, upstreamReport } from './status-upstream.ts';
import { describeRouting, ENV_HINTS } from './status-words.ts';

/** What the registry says of the machines together. */
export interface ProvidersKnown {
  readonly counts: {
    readonly verified: number;
    readonly pending: number;
    readonly verifying: number;
    readonly failed: number;
  };
  /** The excerpt of a machine; for null, of the one that was heard last. Null when there is none. */
  readonly excerpt: (id: string | null) => LocalProvider | null;
}

/** What a status report is made of. */
export interface StatusParts {
  readonly config: Config;
  readonly stats: StatsView;
  readonly warmup: Warmup;
  readonly local: LocalChoice;
  readonly providers: ProvidersKnown;
  /** Providers that a request was ever sent to. */
  readonly providerIds: readonly string[];
  readonly circuitAt: (id: string) => Circuit;
  readonly latencyAt: (id: string) => Latency;
  readonly now: Moment;
  /** Value of the reader's `X-Gateway-Force-Zero`, `"0"` when absent. */
  readonly forceZeroHeader: string;
}

/** The status report of interface 2.4 to 2.7: values in, value out. */
export function statusReport(parts: StatusParts): StatusReport {
  const { config, stats, warmup, local, providers, circuitAt, now, forceZeroHeader } = parts;
  const { forceZero } = config.routing;
  const zero = forceZero || forceZeroHeader === '1';
  const upstreamCircuits = mapUpstreams((id) => circuitReport(circuitAt(id).breaker, now));
  const providerCircuits = byId(parts.providerIds, (id) =>
    providerCircuitReport(circuitAt(id).breaker, now),
  );
  const circuits = { ...upstreamCircuits, ...providerCircuits };
  return {
    ok: UPSTREAM_IDS.some((id) => canServe(id, parts, zero)),
    timestamp: isoTime(now.wallMs),
    forceZero,
    zero,
    gateway_forceZero_header: forceZeroHeader,
    local: {
      verified_count: providers.counts.verified,
      // One that is being looked at has no verdict yet.
      pending_count: providers.counts.pending + providers.counts.verifying,
      failed_count: providers.counts.failed,
      provider: providers.excerpt(localPick(parts)?.provider ?? null),
      health: localHealth(parts),
    },
    upstreams: UPSTREAM_IDS.map((id) => upstreamReport(id, parts, upstreamCircuits[id])),
    circuits,
    stats: {
      totalRequests: stats.totalRequests,
      fallbackCount: stats.fallbackCount,
      perUpstream: byId([...UPSTREAM_IDS, ...parts.providerIds], (id) => {
        const { requests, fails, successes } = circuitAt(id).breaker.health;
        return { requests, fails, successes };
      }),
      circuits,
      providerCircuits,
      providerLatencies: byId(parts.providerIds, (id) => latencyReport(id, parts)),
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

function latencyReport(id: string, { circuitAt, latencyAt }: StatusParts) {
  const { ttft, lastTtftMs } = circuitAt(id).breaker.health;
  const { ewmaMs, samples } = latencyAt(id);
  const ewmaTtft = ttft === null ? null : Math.round(ttft.value);
  return { ewmaTtft, ewmaLatency: ewmaMs, lastTtftMs, samples };
}

function byId<T>(ids: readonly string[], make: (id: string) => T): Record<string, T> {
  return Object.fromEntries(ids.map((id) => [id, make(id)]));
}
