import type { Clock } from '../../platform/clock.ts';
import { withSample, type DecayingMean } from '../circuit/health-record.ts';

/** How long a provider takes for whole answers. */
export interface Latency {
  /** Time-decayed, in milliseconds; null before the first. */
  readonly ewmaMs: number | null;
  /** Answers since the start of the process. */
  readonly samples: number;
}

/** The time that whole answers take, by provider. */
export interface Latencies {
  sample(id: string, ms: number): void;
  at(id: string): Latency;
  forget(id: string): void;
}

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
  };
}
