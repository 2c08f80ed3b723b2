import { z } from 'zod';
import { mapUpstreams, type UpstreamId, UPSTREAM_IDS, isUpstreamId } from '#shared/ids.ts';
import {
  type AttemptRow,
  type RequestRow,
  OUTCOMES,
  type Outcome,
  type OutcomeCounts,
} from '#shared/live.ts';
import { roundedMean } from '../circuits/breaker.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { Memory } from '../memory/memory.ts';
import type { Tokens } from '#shared/usage.ts';
import type { CallMoney, EndedCall } from '../usage/recorder.ts';

const count = z.int().nonnegative();

/** They survive restarts; one that cannot be read begins at 0. */
const totalsSchema = z.object({
  totalRequests: count,
  fallbackCount: count,
  /** Hedged calls: second attempts sent beside a slow first one. */
  hedges: count.catch(0),
  /** Broken streams that another upstream continued. */
  handovers: count.catch(0),
  answers: count.catch(0),
  /** In prompts and answers, as reported by upstreams or estimated. */
  tokens: count.catch(0),
});

export interface StatsView extends Readonly<z.infer<typeof totalsSchema>> {
  readonly inFlight: Readonly<Record<UpstreamId, number>>;
}

const ZERO = {
  totalRequests: 0,
  fallbackCount: 0,
  hedges: 0,
  handovers: 0,
  answers: 0,
  tokens: 0,
};

/** Counts requests; results of attempts are counted by the circuits. */
export type Stats = ReturnType<typeof createStats>;

const modelAt = (id: string, model: string) => `${id} ${model}`;

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + change;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}

export function createStats() {
  let totals = { ...ZERO };
  const running = new Map<string, number>();
  const runningModels = new Map<string, number>();
  const inFlightAt = (id: string) => running.get(id) ?? 0;
  return {
    accepted: () => void (totals.totalRequests += 1),
    fellBack: () => void (totals.fallbackCount += 1),
    hedged: () => void (totals.hedges += 1),
    handedOver: () => void (totals.handovers += 1),
    /** A request has ended; `tokens` is the sum over all its attempts. */
    ended(isAnswered: boolean, used: number) {
      if (isAnswered) totals.answers += 1;
      totals.tokens += used;
    },
    entered: (id: string) => add(running, id, 1),
    left: (id: string) => add(running, id, -1),
    /** The same of an attempt at a machine of the local pool, by the model that it is sent. */
    enteredModel: (id: string, model: string) => add(runningModels, modelAt(id, model), 1),
    leftModel: (id: string, model: string) => add(runningModels, modelAt(id, model), -1),
    inFlightAt,
    isRunning: (id: string, model: string) => runningModels.has(modelAt(id, model)),
    view: () => ({ ...totals, inFlight: mapUpstreams(inFlightAt) }),
    /** Sets the totals to those of an earlier run's view; ignores invalid ones. */
    restore(saved: unknown) {
      totals = totalsSchema.safeParse(saved).data ?? totals;
    },
  };
}

/** What the gateway measures of a provider, times in milliseconds; part of its record (docs/reference/http-api.md#machines). */
export interface ProviderTraffic {
  readonly ewmaTtft: number | null;
  readonly ewmaLatency: number | null;
  readonly concurrentRequests: number;
  readonly totalRequests: number;
  readonly successCount: number;
}

export function providerTraffic(
  id: string,
  {
    memory,
    circuits,
    stats,
  }: { readonly memory: Memory; readonly circuits: Circuits; readonly stats: Stats },
): ProviderTraffic {
  const { ttft, requests, successes } = circuits.at(id).breaker.health;
  return {
    ewmaTtft: roundedMean(ttft),
    ewmaLatency: roundedMean(memory.of(id).get('latency')?.mean ?? null),
    concurrentRequests: stats.inFlightAt(id),
    totalRequests: requests,
    successCount: successes,
  };
}

/** Counts requests by outcome, and per upstream once for each request. */
export type Outcomes = ReturnType<typeof createOutcomes>;

const tally = z.object({ asked: count, answered: count, retries: count, polls: count });
const outcomesSchema = z.object({
  ended: z.object({ 'first-choice': count, 'fell-back': count, failed: count }),
  upstreams: z.object(mapUpstreams(() => tally)),
});

const NO_TALLY = { asked: 0, answered: 0, retries: 0, polls: 0 };

export function createOutcomes() {
  const ended = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Record<
    Outcome,
    number
  >;
  const upstreams = mapUpstreams(() => ({ ...NO_TALLY }));
  const view = (): OutcomeCounts => ({
    ended: { ...ended },
    upstreams: mapUpstreams((id) => ({ ...upstreams[id] })),
  });
  return {
    ended(row: RequestRow, outcome: Outcome | null) {
      if (outcome !== null) ended[outcome] += 1;
      for (const [index, { upstream: id, provider, polls }] of row.attempts.entries()) {
        const isThere = ({ upstream }: AttemptRow) => upstream === id;
        const before = row.attempts.slice(0, index).filter(isThere);
        const of = upstreams[id];
        of.polls += polls;
        if (before.some((each) => each.provider === provider)) of.retries += 1;
        if (before.length > 0) continue;
        of.asked += 1;
        if (row.state === 'done' && row.attempts.filter(isThere).some(gaveAnswer)) of.answered += 1;
      }
    },
    view,
    save: view,
    restore(saved: unknown) {
      const known = outcomesSchema.safeParse(saved).data;
      if (known === undefined) return;
      Object.assign(ended, known.ended);
      for (const id of UPSTREAM_IDS) Object.assign(upstreams[id], known.upstreams[id]);
    },
  };
}

function gaveAnswer({ reason, endMs }: AttemptRow): boolean {
  return reason === null && endMs !== null;
}

/** What a caller got, by its status: for metrics, in which a fallback is `ok`. `client_error`: a 4xx. */
export const STATUS_CLASSES = ['ok', 'client_error', 'gateway_error', 'aborted'] as const;

export type StatusClass = (typeof STATUS_CLASSES)[number];

/** Counts since the start of the process, for metrics: a counter restored from disk would jump after a crash. */
export type TrafficCounts = ReturnType<typeof createTraffic>;

export interface UpstreamTraffic {
  /** By the reason why they did not give the answer; `none` for those that did. */
  readonly attempts: Map<string, number>;
  readonly skips: Map<string, number>;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  estimatedTokens: number;
  /** In billionths of the currency. */
  spentNano: number;
  readonly firstToken: Histogram;
  readonly perOutputToken: Histogram;
}

export type TrafficView = ReturnType<TrafficCounts['view']>;

/** Tokens of the prompts that one upstream, or a machine of the local pool, was sent. */
export interface PromptTokens {
  readonly upstream: UpstreamId;
  /** Empty for an upstream without machines. */
  readonly provider: string;
  /** Found in a cache. */
  reused: number;
  read: number;
}

export interface KeyTraffic {
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Further names are counted as one, because each is a series of the metrics. */
const MAX_KEY_NAMES = 200;
const OTHER_KEYS = 'others';
const MAX_MACHINES = 200;

/** Present from the start: `increase` misses the first count of a new series, and the second reason raises an alert. */
const INITIAL_REASONS = ['none', 'gateway_exhausted'];

const FIRST_TOKEN_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const DURATION_S = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const PER_TOKEN_S = [0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.5, 1];

export function createTraffic() {
  const outcomes = byStatus(() => 0);
  const durations = byStatus(() => createHistogram(DURATION_S));
  const upstreams = mapUpstreams((): UpstreamTraffic => ({
    attempts: new Map(INITIAL_REASONS.map((reason) => [reason, 0])),
    skips: new Map(),
    inputTokens: 0,
    outputTokens: 0,
    cachedTokens: 0,
    estimatedTokens: 0,
    spentNano: 0,
    firstToken: createHistogram(FIRST_TOKEN_S),
    perOutputToken: createHistogram(PER_TOKEN_S),
  }));
  const byEndpoint = new Map<string, number>();
  const byKey = new Map<string, KeyTraffic>();
  const byMachine = new Map<string, PromptTokens>();
  let [fallbacks, hedgesWon, hedgesLost, resumes] = [0, 0, 0, 0];
  let [savedNano, energyMj, energyNano] = [0, 0, 0];

  return {
    callEnded(
      {
        upstream,
        provider,
        cause,
        reason,
        hasAnswered,
        tokens,
        firstTokenMs,
        timedOutput,
      }: EndedCall,
      money: CallMoney,
    ) {
      const at = upstreams[upstream];
      at.spentNano += money.spentNano;
      savedNano += money.savedNano;
      energyMj += money.energyMj;
      energyNano += money.energyNano;
      increment(at.attempts, reason ?? 'none');
      if (cause === 'resume' && hasAnswered) resumes += 1;
      if (cause === 'hedge' && hasAnswered) hedgesWon += 1;
      if (cause === 'hedge' && !hasAnswered) hedgesLost += 1;
      if (firstTokenMs !== null) at.firstToken.observe(firstTokenMs / 1000);
      if (timedOutput !== null)
        at.perOutputToken.observe(timedOutput.ms / 1000 / timedOutput.tokens);
      if (tokens === null) return;
      at.inputTokens += tokens.input;
      at.outputTokens += tokens.output;
      at.cachedTokens += tokens.cached;
      const prompts = promptTokensAt(byMachine, upstream, provider);
      prompts.reused += tokens.cached;
      prompts.read += tokens.input - tokens.cached;
      if (tokens.estimated) at.estimatedTokens += tokens.input + tokens.output;
    },
    requestEnded(row: RequestRow, outcome: Outcome | null) {
      const kind = statusClassOf(row);
      outcomes[kind] += 1;
      durations[kind].observe((row.endMs ?? 0) / 1000);
      increment(byEndpoint, row.endpoint);
      if (row.key !== null) countKey(byKey, row.key, row.tokens);
      if (outcome === 'fell-back') fallbacks += 1;
      if (row.fallbackReason === 'none') return;
      for (const [id, reason] of skipsOf(row)) increment(upstreams[id].skips, reason);
    },
    view: () => ({
      outcomes,
      durations,
      fallbacks,
      hedgesWon,
      hedgesLost,
      resumes,
      /** What the tokens of `local` would have cost, in billionths of the currency. */
      savedNano,
      /** What their electricity was and cost, as far as it is known. */
      energyMj,
      energyNano,
      upstreams,
      byEndpoint,
      byKey,
      prompts: [...byMachine.values()],
    }),
  };
}

function byStatus<T>(make: () => T): Record<StatusClass, T> {
  return { ok: make(), client_error: make(), gateway_error: make(), aborted: make() };
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function promptTokensAt(
  counts: Map<string, PromptTokens>,
  upstream: UpstreamId,
  machine: string | null,
): PromptTokens {
  const isFull = counts.size >= MAX_MACHINES && !counts.has(machine ?? upstream);
  const id = isFull && machine !== null ? OTHER_KEYS : (machine ?? upstream);
  const known = counts.get(id);
  if (known !== undefined) return known;
  const provider = machine === null ? '' : id;
  const begun = { upstream, provider, reused: 0, read: 0 };
  counts.set(id, begun);
  return begun;
}

function countKey(counts: Map<string, KeyTraffic>, key: string, tokens: Tokens | null): void {
  const name = counts.has(key) || counts.size < MAX_KEY_NAMES ? key : OTHER_KEYS;
  const { requests, inputTokens, outputTokens } = counts.get(name) ?? NO_KEY_TRAFFIC;
  counts.set(name, {
    requests: requests + 1,
    inputTokens: inputTokens + (tokens?.input ?? 0),
    outputTokens: outputTokens + (tokens?.output ?? 0),
  });
}

const NO_KEY_TRAFFIC: KeyTraffic = { requests: 0, inputTokens: 0, outputTokens: 0 };

function statusClassOf({ state, status }: RequestRow): StatusClass {
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
function skipsOf({ fallbackReason, attempts }: RequestRow): [UpstreamId, string][] {
  return fallbackReason.split('; ').flatMap((entry): [UpstreamId, string][] => {
    const [name = '', reason = ''] = entry.split('=');
    const [id = '', provider = null] = name.split('/');
    const wasCalled = attempts.some((each) => each.upstream === id && each.provider === provider);
    return isUpstreamId(id) && !wasCalled ? [[id, reason]] : [];
  });
}

/** Counts of values up to each bound, as in Prometheus. */
export type Histogram = ReturnType<typeof createHistogram>;

function createHistogram(bounds: readonly number[]) {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  let sum = 0;
  return {
    bounds,
    observe(value: number) {
      let at = 0;
      while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1;
      counts[at] = (counts[at] ?? 0) + 1;
      sum += value;
    },
    /** The number of values up to each bound, and last that of all values. */
    cumulative() {
      let total = 0;
      return counts.map((each) => (total += each));
    },
    sum: () => sum,
  };
}
