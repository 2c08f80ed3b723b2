import type { ProvidersSummary } from '#shared/live.ts';
import { VERIFICATION_STATES } from '#shared/provider.ts';
import { type StatusReport, type UpstreamReport, WARMUP_STATES } from '#shared/status.ts';
import type { ProcessUsage } from '../../platform/process.ts';
import type { StatsView } from './counters.ts';

interface Figures {
  readonly version: string;
  readonly status: StatusReport;
  readonly stats: StatsView;
  readonly providers: ProvidersSummary;
  readonly process: ProcessUsage;
}

/**
 * No label holds a machine's id: each would be a series, which a scraper keeps long after the machine is removed.
 * `/api/v1/providers` has figures per machine.
 */
export function metricsOf(figures: Figures): Family[] {
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
    ...totals(figures.stats),
    keyRequests(figures.stats),
    ...admission(figures.status),
    ...upstreamFamilies(figures),
    family('gauge', 'switchyard_providers', 'Machines enrolled, by verification.', machines),
    ...poolFamilies(figures.status),
    family('gauge', 'switchyard_ondemand_warmup', 'Warm-up: 1 for its current state.', warmup),
    ...processFamilies(figures),
  ];
}

type Point = readonly [labels: Readonly<Record<string, string>>, value: number | null];

function family(type: Family['type'], name: string, help: string, points: Point[]): Family {
  return { name, type, help, samples: points.map(([labels, value]) => ({ labels, value })) };
}

function totals({ totalRequests, fallbackCount, hedges, handovers }: StatsView): Family[] {
  const total = (of: string, help: string, value: number) =>
    family('counter', `switchyard_${of}_total`, `${help}, kept over restarts.`, [[{}, value]]);
  return [
    total('requests', 'Chat requests accepted', totalRequests),
    total('fallbacks', 'Chat requests that fell back to another upstream', fallbackCount),
    total('hedges', 'Hedged calls: second attempts sent beside a slow first one', hedges),
    total('handovers', 'Broken answers that another upstream continued', handovers),
  ];
}

function keyRequests({ byKey }: StatsView): Family {
  const points = [...byKey].map(([key, value]): Point => [{ key }, value]);
  return family('counter', 'switchyard_key_requests_total', 'Requests accepted, by key.', points);
}

function admission({ admission: { running, queued, limit, refused } }: StatusReport): Family[] {
  const one = (type: Family['type'], of: string, help: string, value: number) =>
    family(type, `switchyard_requests_${of}`, help, [[{}, value]]);
  return [
    one('gauge', 'running', 'Chat requests under way.', running),
    one('gauge', 'queued', 'Chat requests that wait for one of those to end.', queued),
    one('gauge', 'limit', 'How many chat requests may be under way.', limit),
    one('counter', 'refused_total', 'Chat requests refused because too many waited.', refused),
  ];
}

function poolFamilies({ pool }: StatusReport): Family[] {
  if (pool === undefined) return [];
  const one = (of: string, help: string, value: number) =>
    family('gauge', `switchyard_pool_${of}`, help, [[{}, value]]);
  return [
    one(
      'database_up',
      "Whether the pool's database answers.",
      Number(pool.database === 'connected'),
    ),
    one('gateways', 'Gateways that reported to it in the last day.', pool.gateways.length),
  ];
}

type OfUpstream = (upstream: UpstreamReport) => number | null;

function upstreamFamilies({ status, stats, providers }: Figures): Family[] {
  const each = (type: Family['type'], name: string, help: string, of: OfUpstream) => {
    const points = status.upstreams.map((report): Point => [{ upstream: report.id }, of(report)]);
    return family(type, `switchyard_${name}`, help, points);
  };
  const counts = status.stats.perUpstream;
  return [
    each('counter', 'upstream_requests_total', 'Attempts sent.', ({ id }) => {
      return counts[id]?.requests ?? null;
    }),
    each(
      'counter',
      'upstream_failures_total',
      'Attempts that the circuit counts as failed.',
      (at) => {
        return counts[at.id]?.fails ?? null;
      },
    ),
    each('counter', 'upstream_successes_total', 'Attempts answered to the end.', ({ id }) => {
      return counts[id]?.successes ?? null;
    }),
    each('gauge', 'in_flight', 'Attempts in flight.', ({ id }) => stats.inFlight[id]),
    each('gauge', 'circuit_open', 'Whether normal requests skip the upstream.', ({ circuit }) => {
      return Number(circuit.open);
    }),
    each('gauge', 'upstream_healthy', 'Whether it could serve now, if it is configured.', (at) => {
      return isSetUp(at, providers) ? Number(at.healthy) : null;
    }),
    each('gauge', 'upstream_first_token_seconds', 'Mean time to first token.', ({ circuit }) => {
      return circuit.ewmaTtft === null ? null : circuit.ewmaTtft / 1000;
    }),
  ];
}

/** An upstream that was never configured must not raise an alert. */
function isSetUp({ id, baseUrl }: UpstreamReport, providers: ProvidersSummary): boolean {
  return baseUrl !== null || (id === 'local' && providers.count > 0);
}

/** With the names that all Prometheus clients use. */
function processFamilies({ version, process: { residentBytes, cpuSeconds } }: Figures): Family[] {
  return [
    family('gauge', 'switchyard_build_info', 'Always 1, with the version.', [[{ version }, 1]]),
    family('gauge', 'process_resident_memory_bytes', 'Resident memory size in bytes.', [
      [{}, residentBytes],
    ]),
    family('counter', 'process_cpu_seconds_total', 'User and system CPU time in seconds.', [
      [{}, cpuSeconds],
    ]),
  ];
}

/** A sample without a value (null) is left out. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | null;
}

export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The Prometheus text format 0.0.4; a family without samples is left out. */
export function exposition(families: readonly Family[]): string {
  return families.map(familyText).join('');
}

function familyText({ name, type, help, samples }: Family): string {
  const lines = samples.flatMap(({ labels, value }) =>
    value === null ? [] : [`${name}${labelText(labels)} ${value}\n`],
  );
  if (lines.length === 0) return '';
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(value).replaceAll('"', String.raw`\"`)}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
}
