import type { GpuFigures } from '#shared/agent.ts';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { ProvidersSummary } from '#shared/live.ts';
import { VERIFICATION_STATES } from '#shared/provider.ts';
import { type StatusReport, type UpstreamReport, WARMUP_STATES } from '#shared/status.ts';
import type { ProcessUsage } from '../../platform/process.ts';
import type { BreakerState } from '../circuits/breaker.ts';
import type { BudgetAt, KeyLimitAt } from '../usage/budgets.ts';
import {
  type StatsView,
  type Histogram,
  STATUS_CLASSES,
  type TrafficView,
  type UpstreamTraffic,
} from './counters.ts';

interface Figures extends MoneyFigures {
  readonly version: string;
  readonly inFlight: StatsView['inFlight'];
  readonly circuitAt: (id: UpstreamId) => BreakerState['kind'];
  readonly providers: ProvidersSummary;
  /** Of this machine; empty while its agent is off. */
  readonly gpus: readonly GpuFigures[];
  readonly process: ProcessUsage;
}

/**
 * Counters start with the process, as scrapers expect. No label holds a machine's id or a model's name: each would be
 * a series, which a scraper keeps long after the machine or model is gone. `/api/v1/providers` and `/api/v1/history`
 * have those figures.
 */
export function metricsOf(figures: Figures): string {
  const { status, providers } = figures;
  const machines = VERIFICATION_STATES.map((verification): Point => [
    { verification },
    providers[verification],
  ]);
  const warmup = WARMUP_STATES.map((state): Point => [
    { state },
    Number(state === status.ondemand_warmup),
  ]);
  return [
    ...requestFamilies(figures.traffic),
    endpointRequests(figures.traffic),
    ...keyFamilies(figures.traffic),
    ...admission(status),
    ...callFamilies(figures.traffic),
    ...tokenFamilies(figures.traffic),
    ...moneyFamilies(figures),
    ...upstreamFamilies(figures),
    gauge('inglenook_providers', 'Machines enrolled, by verification.', machines),
    ...poolFamilies(figures.status),
    gauge('inglenook_ondemand_warmup', 'Warm-up: 1 for its current state.', warmup),
    ...gpuFamilies(figures.gpus),
    ...processFamilies(figures),
  ].join('');
}

function requestFamilies(traffic: TrafficView): string[] {
  const { outcomes, durations, fallbacks, hedgesWon, hedgesLost, resumes } = traffic;
  return [
    counter(
      'inglenook_requests_total',
      'Requests that have ended, by outcome.',
      STATUS_CLASSES.map((outcome): Point => [{ outcome }, outcomes[outcome]]),
    ),
    histogramFamily(
      'inglenook_request_duration_seconds',
      'From the request to the end of its answer.',
      STATUS_CLASSES.map((outcome) => [{ outcome }, durations[outcome]] as const),
    ),
    counter(
      'inglenook_fallbacks_total',
      'Requests answered or continued by an upstream other than the first choice.',
      fallbacks,
    ),
    counter('inglenook_hedges_total', 'Second calls while a first one was slow.', [
      [{ result: 'won' }, hedgesWon],
      [{ result: 'lost' }, hedgesLost],
    ]),
    counter('inglenook_resumes_total', 'Broken answers that another upstream continued.', resumes),
  ];
}

function admission({ admission: { running, limit, refused } }: StatusReport): string[] {
  return [
    gauge('inglenook_requests_running', 'Requests in progress.', running),
    gauge('inglenook_requests_limit', 'How many requests may be in progress.', limit),
    counter(
      'inglenook_requests_refused_total',
      'Requests refused because too many were running.',
      refused,
    ),
  ];
}

function poolFamilies({ pool }: StatusReport): string[] {
  if (pool === undefined) return [];
  return [
    gauge(
      'inglenook_pool_database_up',
      "Whether the pool's database answers.",
      Number(pool.problem === null),
    ),
  ];
}

function callFamilies({ upstreams }: TrafficView): string[] {
  const byReason = (of: (at: UpstreamTraffic) => ReadonlyMap<string, number>) =>
    UPSTREAM_IDS.flatMap((upstream) =>
      [...of(upstreams[upstream])].map(([reason, count]): Point => [{ upstream, reason }, count]),
    );
  const histograms = (of: (at: UpstreamTraffic) => UpstreamTraffic['firstToken']) =>
    UPSTREAM_IDS.map((upstream) => [{ upstream }, of(upstreams[upstream])] as const);
  return [
    counter(
      'inglenook_attempts_total',
      'Calls to upstreams that have ended, by the reason for no answer; none: answered, or the caller disconnected.',
      byReason(({ attempts }) => attempts),
    ),
    counter(
      'inglenook_skips_total',
      'Upstreams skipped without a call, by reason.',
      byReason(({ skips }) => skips),
    ),
    histogramFamily(
      'inglenook_time_to_first_token_seconds',
      'From the call to its first content, of answers that the upstream streamed.',
      histograms(({ firstToken }) => firstToken),
    ),
    histogramFamily(
      'inglenook_time_per_output_token_seconds',
      'Between two tokens, of streamed answers that came in 50 ms or more.',
      histograms(({ perOutputToken }) => perOutputToken),
    ),
  ];
}

function endpointRequests({ byEndpoint }: TrafficView): string {
  const points = [...byEndpoint].map(([endpoint, value]): Point => [{ endpoint }, value]);
  const help = 'Requests that have ended, by endpoint.';
  return counter('inglenook_endpoint_requests_total', help, points);
}

function keyFamilies({ byKey }: TrafficView): string[] {
  return [
    counter(
      'inglenook_key_requests_total',
      'Requests that have ended, by key.',
      [...byKey].map(([key, { requests }]): Point => [{ key }, requests]),
    ),
    counter(
      'inglenook_key_tokens_total',
      'Tokens of the requests that have ended, by key.',
      [...byKey].flatMap(([key, { inputTokens, outputTokens }]): Point[] => [
        [{ key, type: 'input' }, inputTokens],
        [{ key, type: 'output' }, outputTokens],
      ]),
    ),
  ];
}

function tokenFamilies({ upstreams, prompts }: TrafficView): string[] {
  const each = (of: (at: UpstreamTraffic) => number) =>
    UPSTREAM_IDS.map((upstream): Point => [{ upstream }, of(upstreams[upstream])]);
  return [
    counter(
      'inglenook_tokens_total',
      'Tokens as reported by upstreams, otherwise estimated.',
      UPSTREAM_IDS.flatMap((upstream): Point[] => [
        [{ upstream, type: 'input' }, upstreams[upstream].inputTokens],
        [{ upstream, type: 'output' }, upstreams[upstream].outputTokens],
      ]),
    ),
    counter(
      'inglenook_cached_tokens_total',
      'Input tokens that upstreams had in their caches.',
      each(({ cachedTokens }) => cachedTokens),
    ),
    counter(
      'inglenook_prompt_tokens_total',
      'Input tokens by upstream and machine: reused from its cache, or read.',
      prompts.flatMap(({ upstream, provider, reused, read }): Point[] => [
        [{ upstream, provider, cache: 'reused' }, reused],
        [{ upstream, provider, cache: 'read' }, read],
      ]),
    ),
    counter(
      'inglenook_estimated_tokens_total',
      'Tokens of both types that are estimates.',
      each(({ estimatedTokens }) => estimatedTokens),
    ),
  ];
}

const CIRCUIT_STATES = { closed: 'closed', open: 'open', probing: 'half_open' } as const;

function upstreamFamilies({ status, inFlight, providers, circuitAt }: Figures): string[] {
  const each = (name: string, help: string, of: (upstream: UpstreamReport) => number | null) => {
    const points = status.upstreams.map((report): Point => [{ upstream: report.id }, of(report)]);
    return gauge(`inglenook_${name}`, help, points);
  };
  const circuits = UPSTREAM_IDS.flatMap((upstream) =>
    Object.entries(CIRCUIT_STATES).map(([kind, state]): Point => [
      { upstream, state },
      Number(circuitAt(upstream) === kind),
    ]),
  );
  return [
    each('upstream_in_flight_requests', 'Calls in flight.', ({ id }) => inFlight[id]),
    gauge('inglenook_circuit_state', 'Circuit: 1 for its current state.', circuits),
    each('upstream_healthy', 'Whether the upstream could serve now, if it is configured.', (at) => {
      return isSetUp(at, providers) ? Number(at.healthy) : null;
    }),
  ];
}

/** An upstream that was never configured must not raise an alert. */
function isSetUp({ id, baseUrl }: UpstreamReport, providers: ProvidersSummary): boolean {
  return baseUrl !== null || (id === 'local' && providers.count > 0);
}

/** With the names that all Prometheus clients use. */
function processFamilies({ version, process }: Figures): string[] {
  const { residentBytes, cpuSeconds, startedAtSeconds, loopBusyRatio } = process;
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

type Labels = Readonly<Record<string, string>>;
/** One without a value (null) is left out. */
type Point = readonly [labels: Labels, value: number | null];
type Points = readonly Point[] | number;

/** `points` is the value of a family that has no labels. */
export const counter = (name: string, help: string, points: Points) =>
  familyText('counter', name, help, linesOf(name, points));
const gauge = (name: string, help: string, points: Points) =>
  familyText('gauge', name, help, linesOf(name, points));

function histogramFamily(
  name: string,
  help: string,
  series: readonly (readonly [labels: Labels, histogram: Histogram])[],
): string {
  const lines = series.flatMap(([labels, histogram]) => {
    const counts = histogram.cumulative();
    const bounds = [...histogram.bounds.map(String), '+Inf'];
    const buckets = bounds.map((le, index): Point => [{ ...labels, le }, counts[index] ?? 0]);
    return [
      ...linesOf(`${name}_bucket`, buckets),
      ...linesOf(`${name}_sum`, [[labels, histogram.sum()]]),
      ...linesOf(`${name}_count`, [[labels, counts.at(-1) ?? 0]]),
    ];
  });
  return familyText('histogram', name, help, lines);
}

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The Prometheus text format 0.0.4; empty for a family without samples. */
function familyText(type: string, name: string, help: string, lines: readonly string[]): string {
  if (lines.length === 0) return '';
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function linesOf(name: string, points: Points): readonly string[] {
  const all: readonly Point[] = typeof points === 'number' ? [[{}, points]] : points;
  return all.flatMap(([labels, value]) =>
    value === null ? [] : `${name}${labelText(labels)} ${value}\n`,
  );
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(value).replaceAll('"', String.raw`\"`)}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
}

interface MoneyFigures {
  readonly status: StatusReport;
  readonly traffic: TrafficView;
  readonly budgetsOf: (id: UpstreamId) => readonly BudgetAt[];
  readonly keyLimits: readonly KeyLimitAt[];
  readonly currency: string;
}

const IN_CURRENCY = 'in the currency of inglenook_currency_info';
const UNIT_NANO = 1e9;

/** The local pool costs nothing in the gateway's accounting. */
const PAID = UPSTREAM_IDS.filter((id) => id !== 'local');

/** Prometheus has no unit for money: an info metric names the currency, so that the counters' labels stay the same. */
function moneyFamilies({ status, traffic, ...limits }: MoneyFigures): string[] {
  const budgets = PAID.flatMap((upstream) =>
    limits.budgetsOf(upstream).map((at) => ({ ...at, upstream })),
  );
  const eachBudget = (name: string, help: string, nanoOf: (at: BudgetAt) => number) => {
    const points = budgets.map(({ upstream, ...at }): Point => [
      { upstream, period: at.period },
      nanoOf(at) / UNIT_NANO,
    ]);
    return gauge(`inglenook_budget_${name}`, `${help}, ${IN_CURRENCY}.`, points);
  };
  const spent = PAID.map((upstream): Point => [
    { upstream },
    traffic.upstreams[upstream].spentNano / UNIT_NANO,
  ]);
  return [
    counter('inglenook_spent_total', `What calls have cost, ${IN_CURRENCY}.`, spent),
    counter(
      'inglenook_saved_total',
      `What Local's tokens would have cost at a hosted API, before electricity, ${IN_CURRENCY}.`,
      traffic.savedNano / UNIT_NANO,
    ),
    counter(
      'inglenook_energy_joules_total',
      "Energy that GPUs used for Local's tokens, without idle power, as far as it is known.",
      traffic.energyMj / 1000,
    ),
    counter(
      'inglenook_energy_cost_total',
      `What the electricity for Local's tokens has cost, as far as it is known, ${IN_CURRENCY}.`,
      traffic.energyNano / UNIT_NANO,
    ),
    eachBudget('limit', 'Budget for the current period', ({ limitNano }) => limitNano),
    eachBudget('spent', 'Spent of the budget', ({ spentNano }) => spentNano),
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
      limits.keyLimits.map(({ key, of, period, used, limit }): Point => [
        { key, type: of, period },
        used / limit,
      ]),
    ),
    gauge('inglenook_currency_info', 'Always 1, with the currency of all amounts.', [
      [{ currency: limits.currency }, 1],
    ]),
  ];
}

/** A budget of zero is used up. */
function spentShare({ spent, limit }: NonNullable<UpstreamReport['budget']>): number {
  return limit === 0 ? 1 : spent / limit;
}
