import { READ_REASONS, type UsageFigures } from '#shared/usage.ts';
import { z } from 'zod';
import { mapUpstreams, UPSTREAM_IDS } from '#shared/ids.ts';
import { parseFallbackReason } from '#shared/reasons.ts';
import {
  type AttemptRow,
  firstTokenMsOf,
  type Outcome,
  type OutcomeCounts,
  type RequestRow,
  timedOutputOf,
} from '#shared/live.ts';
import type { AttemptStart } from '../routing/observer.ts';
import type { EndedCall } from '../usage/recorder.ts';
import { counter, familyText, type Labels, linesOf, type Point } from './exposition.ts';

/** What happens is counted here, once: calls when they end, requests when they end. */
export type Counters = ReturnType<typeof createCounters>;

const count = z.int().nonnegative().default(0);
const tally = z
  .object({ asked: count, answered: count, retries: count, polls: count })
  .prefault({});

/** They survive restarts. */
const totalsSchema = z.object({
  totalRequests: count,
  /** Requests whose answer came from another upstream than the first, as its header says. */
  fallbackCount: count,
  ended: z.object({ 'first-choice': count, 'fell-back': count, failed: count }).prefault({}),
  upstreams: z.object(mapUpstreams(() => tally)).prefault({}),
});

type Totals = z.infer<typeof totalsSchema>;

export function createCounters() {
  let totals = totalsSchema.parse({});
  const running = new Map<string, number>();
  const series = createSeries(FAMILIES);
  const [keyName, machineName] = [createNames(), createNames()];
  const inFlightAt = (id: string) => running.get(id) ?? 0;

  function change(ids: readonly string[], by: 1 | -1): void {
    for (const id of ids) {
      const now = inFlightAt(id) + by;
      if (now === 0) running.delete(id);
      else running.set(id, now);
    }
  }

  function countUsed({ upstream, provider, tokens }: EndedCall, used: UsageFigures): void {
    if (upstream !== 'local') series.add('inglenook_spent_total', { upstream }, used.spentNano);
    series.add('inglenook_saved_total', {}, used.savedNano);
    series.add('inglenook_energy_joules_total', {}, used.energyMj);
    series.add('inglenook_energy_cost_total', {}, used.energyNano);
    if (tokens === null) return;
    const { input, output, cached } = tokens;
    const prompts = { upstream, provider: provider === null ? '' : machineName(provider) };
    series.add('inglenook_tokens_total', { upstream, type: 'input' }, input);
    series.add('inglenook_tokens_total', { upstream, type: 'output' }, output);
    series.add('inglenook_cached_tokens_total', { upstream }, cached);
    series.add('inglenook_prompt_tokens_total', { ...prompts, cache: 'reused' }, cached);
    series.add('inglenook_prompt_tokens_total', { ...prompts, cache: 'read' }, input - cached);
    series.add('inglenook_estimated_tokens_total', { upstream }, used.estimatedTokens);
  }

  return {
    accepted: () => void (totals.totalRequests += 1),
    callStarted: (start: AttemptStart) => change(runningIds(start), 1),
    callLeft: (start: AttemptStart) => change(runningIds(start), -1),
    callEnded(call: EndedCall, used: UsageFigures) {
      const { upstream, cause, reason, reading } = call;
      const hasAnswered = call.firstContentMs !== null;
      const [firstTokenMs, timedOutput] = [firstTokenMsOf(call), timedOutputOf(call)];
      series.add('inglenook_attempts_total', { upstream, reason: reason ?? 'none' });
      if (cause === 'hedge')
        series.add('inglenook_hedges_total', { result: hasAnswered ? 'won' : 'lost' });
      if (cause === 'resume' && hasAnswered) series.add('inglenook_resumes_total', {});
      if (firstTokenMs !== null)
        series.observe('inglenook_time_to_first_token_seconds', { upstream }, firstTokenMs / 1000);
      if (timedOutput !== null) {
        const seconds = timedOutput.ms / 1000 / timedOutput.tokens;
        series.observe('inglenook_time_per_output_token_seconds', { upstream }, seconds);
      }
      countUsed(call, used);
      if (reading !== undefined && reading.again > 0)
        series.add('inglenook_reread_tokens_total', { reason: reading.why }, reading.again);
    },
    requestEnded(row: RequestRow, outcome: Outcome | null) {
      if (row.fallbackReason !== 'none') totals.fallbackCount += 1;
      if (outcome !== null) totals.ended[outcome] += 1;
      countAttempts(totals.upstreams, row);
      const status = { outcome: statusClassOf(row) };
      series.add('inglenook_requests_total', status);
      series.observe('inglenook_request_duration_seconds', status, (row.endMs ?? 0) / 1000);
      series.add('inglenook_endpoint_requests_total', { endpoint: row.endpoint });
      if (outcome === 'fell-back') series.add('inglenook_fallbacks_total', {});
      for (const { upstream, reason } of skipsOf(row))
        series.add('inglenook_skips_total', { upstream, reason });
      if (row.key === null) return;
      const key = keyName(row.key);
      series.add('inglenook_key_requests_total', { key });
      for (const type of ['input', 'output'] as const)
        series.add('inglenook_key_tokens_total', { key, type }, row.tokens?.[type] ?? 0);
    },
    inFlightAt,
    isRunning: (id: string, model: string) => inFlightAt(modelAt(id, model)) > 0,
    inFlight: () => mapUpstreams(inFlightAt),
    totals: (): Pick<Totals, 'totalRequests' | 'fallbackCount'> => totals,
    outcomes: (): OutcomeCounts =>
      structuredClone({ ended: totals.ended, upstreams: totals.upstreams }),
    /** For scrapers. */
    text: series.text,
    save: (): unknown => totals,
    /** Sets the totals to those that an earlier run saved; ignores others. */
    restore(saved: unknown) {
      totals = totalsSchema.safeParse(saved).data ?? totals;
    },
  };
}

const modelAt = (id: string, model: string) => `${id} ${model}`;

/** Also by the model that a machine of the local pool is sent. */
function runningIds({ ids, target: { provider, model } }: AttemptStart): readonly string[] {
  return provider === null ? ids : [...ids, modelAt(provider, model)];
}

/** Each upstream once for each request. */
function countAttempts(upstreams: Totals['upstreams'], { attempts, state }: RequestRow): void {
  for (const [id, own] of Map.groupBy(attempts, ({ upstream }) => upstream)) {
    const of = upstreams[id];
    of.asked += 1;
    if (state === 'done' && own.some(gaveAnswer)) of.answered += 1;
    of.polls += own.reduce((sum, { polls }) => sum + polls, 0);
    // The first call of each machine is no retry.
    of.retries += own.length - new Set(own.map(({ provider }) => provider)).size;
  }
}

function gaveAnswer({ reason, endMs }: AttemptRow): boolean {
  return reason === null && endMs !== null;
}

/** Each name of a key or a machine is a series; further ones are counted as one. */
const MAX_NAMES = 200;

function createNames() {
  const names = new Set<string>();
  return (name: string) => {
    if (names.size < MAX_NAMES) names.add(name);
    return names.has(name) ? name : 'others';
  };
}

/** What a caller got, by its status; a fallback is `ok`. `client_error`: a 4xx. */
function statusClassOf({ state, status }: RequestRow): string {
  switch (state) {
    case 'done':
      return 'ok';
    case 'cancelled':
      return 'aborted';
    case 'failed':
      return status !== null && status < 500 ? 'client_error' : 'gateway_error';
    default:
      return 'gateway_error';
  }
}

/** The entries of `X-Gateway-Fallback-Reason` for upstreams that were passed over without a call. */
function skipsOf({ fallbackReason, attempts }: RequestRow) {
  return parseFallbackReason(fallbackReason).filter(
    (entry) =>
      !attempts.some(
        (each) => each.upstream === entry.upstream && each.provider === entry.provider,
      ),
  );
}

/** A family of counters, or of histograms. */
interface Family {
  readonly help: string;
  /** Present from the start: `increase` misses the first count of a new series. */
  readonly initial: readonly Labels[];
  /** What is added for one of its unit. */
  readonly unit?: number;
  /** Of a histogram. */
  readonly bounds?: readonly number[];
}

interface Series {
  readonly labels: Labels;
  /** Of a histogram: how many there were. */
  value: number;
  /** Of a histogram: up to each bound, then all others. */
  readonly counts: number[];
  sum: number;
}

/** Counts that begin with the process, as scrapers expect: one restored from disk would jump after a crash. */
function createSeries<Name extends string>(families: Readonly<Record<Name, Family>>) {
  const names = Object.keys(families) as Name[];
  const all = Object.fromEntries(names.map((name) => [name, new Map()])) as Record<
    Name,
    Map<string, Series>
  >;

  function at(name: Name, labels: Labels): Series {
    const series = all[name];
    const key = Object.values(labels).join('\n');
    const known = series.get(key);
    if (known !== undefined) return known;
    const counts = families[name].bounds?.map(() => 0) ?? [];
    const fresh = { labels, value: 0, counts: [...counts, 0], sum: 0 };
    series.set(key, fresh);
    return fresh;
  }

  function textOf(name: Name): string {
    const { help, unit = 1, bounds } = families[name];
    const series = [...all[name].values()];
    if (bounds === undefined)
      return counter(
        name,
        help,
        series.map(({ labels, value }): Point => [labels, value / unit]),
      );
    const lines = series.flatMap(({ labels, value, counts, sum }) => {
      let total = 0;
      const buckets = [...bounds.map(String), '+Inf'].map((le, index): Point => [
        { ...labels, le },
        (total += counts[index] ?? 0),
      ]);
      return [
        ...linesOf(`${name}_bucket`, buckets),
        ...linesOf(`${name}_sum`, [[labels, sum]]),
        ...linesOf(`${name}_count`, [[labels, value]]),
      ];
    });
    return familyText('histogram', name, help, lines);
  }

  for (const name of names) for (const labels of families[name].initial) at(name, labels);
  return {
    add(name: Name, labels: Labels, value = 1) {
      // Most calls have no price and no energy, and what is present from the start need not be looked up for that.
      if (value !== 0 || families[name].initial.length === 0) at(name, labels).value += value;
    },
    observe(name: Name, labels: Labels, value: number) {
      const series = at(name, labels);
      const { bounds = [] } = families[name];
      const index = bounds.findIndex((bound) => value <= bound);
      const place = index === -1 ? bounds.length : index;
      series.counts[place] = (series.counts[place] ?? 0) + 1;
      series.value += 1;
      series.sum += value;
    },
    text: () => names.map(textOf).join(''),
  };
}

const FIRST_TOKEN_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const DURATION_S = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const PER_TOKEN_S = [0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.5, 1];

export const IN_CURRENCY = 'in the currency of inglenook_currency_info';
export const UNIT_NANO = 1e9;

const one: readonly Labels[] = [{}];
const each = UPSTREAM_IDS.map((upstream) => ({ upstream }));
/** The local pool costs nothing in the gateway's accounting. */
const paid = each.filter(({ upstream }) => upstream !== 'local');
const statuses = ['ok', 'client_error', 'gateway_error', 'aborted'].map((outcome) => ({ outcome }));
/** The second raises an alert. */
const reasons = each.flatMap((at) => [
  { ...at, reason: 'none' },
  { ...at, reason: 'gateway_exhausted' },
]);
const types = each.flatMap((at) => [
  { ...at, type: 'input' },
  { ...at, type: 'output' },
]);

const family = (help: string, initial: readonly Labels[], more: Partial<Family> = {}): Family => ({
  help,
  initial,
  ...more,
});

const FAMILIES = {
  inglenook_requests_total: family('Requests that have ended, by outcome.', statuses),
  inglenook_request_duration_seconds: family(
    'From the request to the end of its answer.',
    statuses,
    { bounds: DURATION_S },
  ),
  inglenook_fallbacks_total: family(
    'Requests answered or continued by an upstream other than the first choice.',
    one,
  ),
  inglenook_hedges_total: family('Second calls while a first one was slow.', [
    { result: 'won' },
    { result: 'lost' },
  ]),
  inglenook_resumes_total: family('Broken answers that another upstream continued.', one),
  inglenook_endpoint_requests_total: family('Requests that have ended, by endpoint.', []),
  inglenook_key_requests_total: family('Requests that have ended, by key.', []),
  inglenook_key_tokens_total: family('Tokens of the requests that have ended, by key.', []),
  inglenook_attempts_total: family(
    'Calls to upstreams that have ended, by the reason for no answer; none: answered, or the caller disconnected.',
    reasons,
  ),
  inglenook_skips_total: family('Upstreams skipped without a call, by reason.', []),
  inglenook_time_to_first_token_seconds: family(
    'From the call to its first content, of answers that the upstream streamed.',
    each,
    { bounds: FIRST_TOKEN_S },
  ),
  inglenook_time_per_output_token_seconds: family(
    'Between two tokens, of streamed answers that came in 50 ms or more.',
    each,
    { bounds: PER_TOKEN_S },
  ),
  inglenook_tokens_total: family('Tokens as reported by upstreams, otherwise estimated.', types),
  inglenook_cached_tokens_total: family('Input tokens that upstreams had in their caches.', each),
  inglenook_prompt_tokens_total: family(
    'Input tokens by upstream and machine: reused from its cache, or read.',
    [],
  ),
  inglenook_reread_tokens_total: family(
    'Input tokens that own engines had read for an earlier turn, by why they read them again.',
    READ_REASONS.filter((reason) => reason !== 'first_turn').map((reason) => ({ reason })),
  ),
  inglenook_estimated_tokens_total: family('Tokens of both types that are estimates.', each),
  inglenook_spent_total: family(`What calls have cost, ${IN_CURRENCY}.`, paid, { unit: UNIT_NANO }),
  inglenook_saved_total: family(
    `What Local's tokens would have cost at a hosted API, before electricity, ${IN_CURRENCY}.`,
    one,
    { unit: UNIT_NANO },
  ),
  inglenook_energy_joules_total: family(
    "Energy that GPUs used for Local's tokens, without idle power, as far as it is known.",
    one,
    { unit: 1000 },
  ),
  inglenook_energy_cost_total: family(
    `What the electricity for Local's tokens has cost, as far as it is known, ${IN_CURRENCY}.`,
    one,
    { unit: UNIT_NANO },
  ),
} satisfies Readonly<Record<string, Family>>;
