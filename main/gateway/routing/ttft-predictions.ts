import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import {
  MAX_PROMPT_BYTES,
  MAX_TTFT_MS,
  NO_PREDICTION_YET,
  predict,
  type Prediction,
  type PredictionRecord,
  withFirstToken,
} from './ttft-prediction.ts';

/** Predicted times to first token by provider id; a fixed engine has the id `local`. */
export interface Predictions {
  sample(id: string, promptBytes: number, ttftMs: number): void;
  /** It was called and stayed silent past the hedge delay: its prediction counts as fresh again. */
  confirm(id: string): void;
  /** Null below 20 samples. */
  at(id: string, promptBytes: number): Prediction | null;
  forget(id: string): void;
  /** Plain JSON. */
  save(): unknown;
  /** Takes the result of `save`; anything else is ignored. */
  restore(saved: unknown): void;
}

/**
 * How long a prediction without a newer sample can exclude a machine or give up a call: one that is passed over as
 * slow gives no first token that could correct its prediction, and one that idles may unload its model.
 */
const FRESH_MS = 60_000;

/** Above the total weight of any number of samples, which is below 34. */
const MAX_WEIGHT = 100;
const MAX_PRODUCT = MAX_WEIGHT * MAX_PROMPT_BYTES * MAX_TTFT_MS;

const savedSchema = z.record(
  z.string(),
  z.strictObject({
    samples: z.int().nonnegative(),
    meanBytes: z.number().min(0).max(MAX_PROMPT_BYTES),
    meanTtftMs: z.number().min(0).max(MAX_TTFT_MS),
    spread: z
      .number()
      .min(0)
      .max(MAX_WEIGHT * MAX_PROMPT_BYTES ** 2),
    covariance: z.number().min(-MAX_PRODUCT).max(MAX_PRODUCT),
    residualMs: z.number().min(0),
    heardWallMs: z.number().min(0),
  }),
);

export function createPredictions(clock: Clock): Predictions {
  const known = new Map<string, { readonly record: PredictionRecord; readonly freshAt: number }>();
  return {
    sample(id, promptBytes, ttftMs) {
      const record = known.get(id)?.record ?? NO_PREDICTION_YET;
      known.set(id, {
        record: withFirstToken(record, { promptBytes, ttftMs }),
        freshAt: clock.ticks(),
      });
    },
    confirm(id) {
      const machine = known.get(id);
      if (machine !== undefined) known.set(id, { ...machine, freshAt: clock.ticks() });
    },
    at(id, promptBytes) {
      const machine = known.get(id);
      const prediction = machine === undefined ? null : predict(machine.record, promptBytes);
      if (machine === undefined || prediction === null) return null;
      return clock.ticks() - machine.freshAt <= FRESH_MS
        ? prediction
        : { ...prediction, earliestMs: 0, latestMs: Infinity };
    },
    forget: (id) => void known.delete(id),
    save: () =>
      Object.fromEntries(
        [...known].map(([id, { record, freshAt }]) => [
          id,
          { ...record, heardWallMs: Math.max(0, clock.now() - (clock.ticks() - freshAt)) },
        ]),
      ),
    restore(saved) {
      for (const [id, each] of Object.entries(savedSchema.safeParse(saved).data ?? {})) {
        const { heardWallMs, ...record } = each;
        const freshAt = clock.ticks() - Math.max(0, clock.now() - heardWallMs);
        known.set(id, { record, freshAt });
      }
    },
  };
}
