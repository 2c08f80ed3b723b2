import type { GpuFigures } from '#shared/agent.ts';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { ProvidersSummary } from '#shared/live.ts';
import { VERIFICATION_STATES } from '#shared/provider.ts';
import { type StatusReport, type UpstreamReport, WARMUP_STATES } from '#shared/status.ts';
import type { Config } from '../../config/schema.ts';
import { processUsage } from '../../platform/process.ts';
import { IN_CURRENCY, UNIT_NANO } from './counters.ts';
import { counter, gauge, type Point } from './exposition.ts';
import type { Monitor } from './monitor.ts';

export interface MetricsDeps {
  readonly monitor: Monitor;
  readonly config: () => Config;
  /** The keys of apps. */
  readonly keys: { readonly list: () => readonly { readonly name: string }[] };
  readonly summary: () => ProvidersSummary;
  /** The GPUs of this machine; empty while its agent is off. */
  readonly gpus: () => readonly GpuFigures[];
  readonly app: () => { readonly version: string };
}

/**
 * Counters start with the process, as scrapers expect. No label holds a machine's id or a model's name: each would be
 * a series, which a scraper keeps long after the machine or model is gone. `/api/v1/providers` and `/api/v1/history`
 * have those figures.
 */
export function metricsOf(deps: MetricsDeps): string {
  const { monitor, summary, gpus, app } = deps;
  const [status, providers] = [monitor.status('0'), summary()];
  const { running, limit, refused } = status.admission;
  const machines = VERIFICATION_STATES.map((verification): Point => [
    { verification },
    providers[verification],
  ]);
  const warmup = WARMUP_STATES.map((state): Point => [
    { state },
    Number(state === status.ondemand_warmup),
  ]);
  return [
    monitor.counters.text(),
    gauge('inglenook_requests_running', 'Requests in progress.', running),
    gauge('inglenook_requests_limit', 'How many requests may be in progress.', limit),
    counter(
      'inglenook_requests_refused_total',
      'Requests refused because too many were running.',
      refused,
    ),
    ...moneyFamilies(status, deps),
    ...upstreamFamilies(status, providers, monitor),
    gauge('inglenook_providers', 'Machines enrolled, by verification.', machines),
    gauge(
      'inglenook_pool_database_up',
      "Whether the pool's database answers.",
      status.pool === undefined ? null : Number(status.pool.problem === null),
    ),
    gauge('inglenook_ondemand_warmup', 'Warm-up: 1 for its current state.', warmup),
    ...gpuFamilies(gpus()),
    ...processFamilies(app().version),
  ].join('');
}

const CIRCUIT_STATES = { closed: 'closed', open: 'open', probing: 'half_open' } as const;

function upstreamFamilies(
  status: StatusReport,
  providers: ProvidersSummary,
  { counters, circuits }: Monitor,
): string[] {
  const each = (name: string, help: string, of: (upstream: UpstreamReport) => number | null) => {
    const points = status.upstreams.map((report): Point => [{ upstream: report.id }, of(report)]);
    return gauge(`inglenook_${name}`, help, points);
  };
  const states = UPSTREAM_IDS.flatMap((upstream) =>
    Object.entries(CIRCUIT_STATES).map(([kind, state]): Point => [
      { upstream, state },
      Number(circuits.at(upstream).breaker.state.kind === kind),
    ]),
  );
  return [
    each('upstream_in_flight_requests', 'Calls in flight.', ({ id }) => counters.inFlightAt(id)),
    gauge('inglenook_circuit_state', 'Circuit: 1 for its current state.', states),
    each('upstream_healthy', 'Whether the upstream could serve now, if it is configured.', (at) => {
      return isSetUp(at, providers) ? Number(at.healthy) : null;
    }),
  ];
}

/** An upstream that was never configured must not raise an alert. */
function isSetUp({ id, baseUrl }: UpstreamReport, providers: ProvidersSummary): boolean {
  return baseUrl !== null || (id === 'local' && providers.count > 0);
}

/** The figures of this process, under the names that all Prometheus clients use. */
function processFamilies(version: string): string[] {
  const { residentBytes, cpuSeconds, startedAtSeconds, loopBusyRatio } = processUsage();
  return [
    gauge('inglenook_build_info', 'Always 1, with the version.', [[{ version }, 1]]),
    gauge(
      'inglenook_event_loop_utilization_ratio',
      'Share of the time since the start that the event loop was busy.',
      loopBusyRatio,
    ),
    gauge(
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      startedAtSeconds,
    ),
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', residentBytes),
    counter('process_cpu_seconds_total', 'User and system CPU time in seconds.', cpuSeconds),
  ];
}

const BYTES_PER_MB = 2 ** 20;

/** This machine's GPUs, at most 64; those of other machines are in `/api/v1/providers`. */
function gpuFamilies(gpus: readonly GpuFigures[]): string[] {
  const each = (name: string, help: string, of: (gpu: GpuFigures) => number | null, unit = 1) =>
    gauge(
      `inglenook_gpu_${name}`,
      `${help}, of this machine's GPUs.`,
      gpus.map((gpu) => {
        const value = of(gpu);
        const labels = { index: String(gpu.index), name: gpu.name };
        return [labels, value === null ? null : value * unit];
      }),
    );
  return [
    each('utilization_ratio', 'Share of the time that the GPU was busy', (at) => at.util_gpu, 0.01),
    each('memory_used_bytes', 'Memory in use', (at) => at.memory_used_mb, BYTES_PER_MB),
    each('memory_total_bytes', 'Memory', (at) => at.memory_total_mb, BYTES_PER_MB),
    each('temperature_celsius', 'Temperature', (at) => at.temperature_c),
    each('power_watts', 'Power drawn', (at) => at.power_w),
  ];
}

/** The local pool costs nothing in the gateway's accounting. */
const PAID = UPSTREAM_IDS.filter((id) => id !== 'local');

/** Prometheus has no unit for money: an info metric names the currency, so that the counters' labels stay the same. */
function moneyFamilies(status: StatusReport, { monitor, config, keys }: MetricsDeps): string[] {
  const budgets = PAID.flatMap((upstream) =>
    monitor.budgets.of(upstream).map((at) => ({ ...at, upstream })),
  );
  const keyLimits = keys.list().flatMap(({ name }) => monitor.keyLimits.of(name));
  const eachBudget = (name: string, help: string, of: 'limit' | 'used') => {
    const points = budgets.map(({ upstream, period, [of]: nano }): Point => [
      { upstream, period },
      nano / UNIT_NANO,
    ]);
    return gauge(`inglenook_budget_${name}`, `${help}, ${IN_CURRENCY}.`, points);
  };
  return [
    eachBudget('limit', 'Budget for the current period', 'limit'),
    eachBudget('spent', 'Spent of the budget', 'used'),
    gauge(
      'inglenook_budget_spent_ratio',
      'Share of the budget that is spent; of two budgets, the one with the larger share.',
      status.upstreams.map(({ id, budget }): Point => [
        { upstream: id },
        budget === undefined ? null : spentShare(budget),
      ]),
    ),
    gauge(
      'inglenook_key_limit_used_ratio',
      'Share of a limit of a key that is used.',
      keyLimits.map(({ key, of, period, used, limit }): Point => [
        { key, type: of, period },
        used / limit,
      ]),
    ),
    gauge('inglenook_currency_info', 'Always 1, with the currency of all amounts.', [
      [{ currency: config().gateway.currency }, 1],
    ]),
  ];
}

/** A budget of zero is used up. */
function spentShare({ spent, limit }: NonNullable<UpstreamReport['budget']>): number {
  return limit === 0 ? 1 : spent / limit;
}
