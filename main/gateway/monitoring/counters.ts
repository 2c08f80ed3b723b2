import { z } from 'zod';
import { mapUpstreams, type UpstreamId, UPSTREAM_IDS } from '#shared/ids.ts';
import {
  type AttemptRow,
  type RequestRow,
  OUTCOMES,
  type Outcome,
  type OutcomeCounts,
} from '#shared/live.ts';
import { type Clock, dualTimeOf } from '../../platform/clock.ts';
import type { Circuits } from '../circuits/circuits.ts';
import { decodeMean, encodeMean, meanSchema } from '../circuits/saved-circuits.ts';
import { type DecayingMean, withSample } from '../circuits/breaker.ts';

const count = z.int().nonnegative();

/** They survive restarts; files of earlier versions lack all but the first two. */
const totalsSchema = z.object({
  totalRequests: count,
  fallbackCount: count,
  /** Hedged calls: second attempts sent beside a slow first one. */
  hedges: count.catch(0),
  /** Broken streams that another upstream continued. */
  handovers: count.catch(0),
  /** Requests that were answered completely. */
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
    running: () => running,
    view: () => ({ ...totals, inFlight: mapUpstreams(inFlightAt) }),
    /** Sets the totals to those of an earlier run's view; ignores invalid ones. */
    restore(saved: unknown) {
      totals = totalsSchema.safeParse(saved).data ?? totals;
    },
  };
}

export interface Latency {
  /** Time-decayed mean in milliseconds; null before the first sample. */
  readonly ewmaMs: number | null;
  readonly samples: number;
}

export type Latencies = ReturnType<typeof createLatencies>;

const latenciesSchema = z.record(
  z.string(),
  z.strictObject({ mean: meanSchema, samples: z.int().positive() }),
);

const NONE: Latency = { ewmaMs: null, samples: 0 };

export function createLatencies(clock: Clock) {
  const known = new Map<string, { readonly mean: DecayingMean; readonly samples: number }>();
  return {
    sample(id: string, ms: number) {
      const before = known.get(id);
      const mean = withSample(before?.mean ?? null, ms, clock.ticks());
      known.set(id, { mean, samples: (before?.samples ?? 0) + 1 });
    },
    at(id: string) {
      const latency = known.get(id);
      return latency === undefined
        ? NONE
        : { ewmaMs: Math.round(latency.mean.value), samples: latency.samples };
    },
    forget: (id: string) => void known.delete(id),
    save: () =>
      Object.fromEntries(
        [...known].map(([id, { mean, samples }]) => [
          id,
          { mean: encodeMean(mean, dualTimeOf(clock)), samples },
        ]),
      ),
    /** From what `save` returned; invalid input is ignored. */
    restore(saved: unknown) {
      for (const [id, each] of Object.entries(latenciesSchema.safeParse(saved).data ?? {})) {
        known.set(id, { mean: decodeMean(each.mean, dualTimeOf(clock)), samples: each.samples });
      }
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
    circuits,
    latencies,
    stats,
  }: { readonly circuits: Circuits; readonly latencies: Latencies; readonly stats: Stats },
): ProviderTraffic {
  const { ttft, requests, successes } = circuits.at(id).breaker.health;
  return {
    ewmaTtft: ttft === null ? null : Math.round(ttft.value),
    ewmaLatency: latencies.at(id).ewmaMs,
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
    /** Two upstreams have changed places. */
    swap(a: UpstreamId, b: UpstreamId) {
      [upstreams[a], upstreams[b]] = [upstreams[b], upstreams[a]];
    },
    view,
    save: view,
    /** From what `save` returned; invalid input is ignored. */
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
