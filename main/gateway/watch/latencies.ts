import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import { decodeMean, encodeMean, meanSchema } from '../circuit/codec.ts';
import { withSample, type DecayingMean } from '../circuit/health-record.ts';
import { momentOf } from '../circuit/moment.ts';

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
          { mean: encodeMean(mean, momentOf(clock)), samples },
        ]),
      ),
    restore(saved) {
      for (const [id, each] of Object.entries(savedSchema.safeParse(saved).data ?? {})) {
        known.set(id, { mean: decodeMean(each.mean, momentOf(clock)), samples: each.samples });
      }
    },
  };
}
