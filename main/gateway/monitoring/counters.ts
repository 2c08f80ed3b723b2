import { z } from 'zod';
import { mapUpstreams, type UpstreamId } from '#shared/ids.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Circuits } from '../circuits/circuits.ts';
import { decodeMean, encodeMean, meanSchema } from '../circuits/codec.ts';
import { dualTimeOf } from '../circuits/deadline.ts';
import { type DecayingMean, withSample } from '../circuits/health.ts';

/** Counters: the totals over restarts, what is in flight since the start. */
export interface StatsView {
  readonly totalRequests: number;
  readonly fallbackCount: number;
  /** Second attempts that were sent beside a slow first one. */
  readonly hedges: number;
  /** Answers that broke off and that another upstream went on with. */
  readonly handovers: number;
  readonly inFlight: Readonly<Record<UpstreamId, number>>;
}

type Totals = Omit<StatsView, 'inFlight'>;

/** Counts requests; what happens at an upstream is counted by its circuit. */
export interface Stats {
  accepted(): void;
  fellBack(): void;
  hedged(): void;
  handedOver(): void;
  /** A request begins to occupy an upstream or a provider. */
  entered(id: string): void;
  /** However it went, the request occupies it no longer. */
  left(id: string): void;
  /** Requests that occupy an upstream or a provider. */
  inFlightAt(id: string): number;
  view(): StatsView;
  /** Takes the totals of an earlier run. */
  restore(totals: Totals): void;
}

/** Makes empty counters. */
export function createStats(): Stats {
  let totalRequests = 0;
  let fallbackCount = 0;
  let hedges = 0;
  let handovers = 0;
  const occupied = new Map<string, number>();
  const inFlightAt = (id: string) => occupied.get(id) ?? 0;
  return {
    accepted: () => void (totalRequests += 1),
    fellBack: () => void (fallbackCount += 1),
    hedged: () => void (hedges += 1),
    handedOver: () => void (handovers += 1),
    entered: (id) => void occupied.set(id, inFlightAt(id) + 1),
    left(id) {
      const now = inFlightAt(id) - 1;
      if (now === 0) occupied.delete(id);
      else occupied.set(id, now);
    },
    inFlightAt,
    view: () => ({
      totalRequests,
      fallbackCount,
      hedges,
      handovers,
      inFlight: mapUpstreams(inFlightAt),
    }),
    restore: (totals) => void ({ totalRequests, fallbackCount, hedges, handovers } = totals),
  };
}

/** How long a provider takes for whole answers. */
export interface Latency {
  /** Time-decayed, in milliseconds; null before the first. */
  readonly ewmaMs: number | null;
  /** Whole answers so far. */
  readonly samples: number;
}

/** The time that whole answers take, by provider. */
export interface Latencies {
  sample(id: string, ms: number): void;
  at(id: string): Latency;
  forget(id: string): void;
  /** Plain JSON of everything, to be kept over a restart. */
  save(): unknown;
  /** Takes what `save` gave; anything else is left out. */
  restore(saved: unknown): void;
}

const savedSchema = z.record(
  z.string(),
  z.strictObject({ mean: meanSchema, samples: z.int().positive() }),
);

const NONE: Latency = { ewmaMs: null, samples: 0 };

/** Makes an empty set. */
export function createLatencies(clock: Clock): Latencies {
  const known = new Map<string, { readonly mean: DecayingMean; readonly samples: number }>();
  return {
    sample(id, ms) {
      const before = known.get(id);
      const mean = withSample(before?.mean ?? null, ms, clock.ticks());
      known.set(id, { mean, samples: (before?.samples ?? 0) + 1 });
    },
    at(id) {
      const latency = known.get(id);
      return latency === undefined
        ? NONE
        : { ewmaMs: Math.round(latency.mean.value), samples: latency.samples };
    },
    forget: (id) => void known.delete(id),
    save: () =>
      Object.fromEntries(
        [...known].map(([id, { mean, samples }]) => [
          id,
          { mean: encodeMean(mean, dualTimeOf(clock)), samples },
        ]),
      ),
    restore(saved) {
      for (const [id, each] of Object.entries(savedSchema.safeParse(saved).data ?? {})) {
        known.set(id, { mean: decodeMean(each.mean, dualTimeOf(clock)), samples: each.samples });
      }
    },
  };
}

/** What the gateway has measured of a provider, in milliseconds; part of its record (docs/http-api.md#machines). */
export interface ProviderTraffic {
  readonly ewmaTtft: number | null;
  readonly ewmaLatency: number | null;
  readonly concurrentRequests: number;
  readonly totalRequests: number;
  readonly successCount: number;
}

/** Gathers it from where it is counted. */
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
