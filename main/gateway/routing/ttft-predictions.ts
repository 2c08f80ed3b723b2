import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import {
  MOST_BYTES,
  MOST_MS,
  NO_PREDICTION_YET,
  predict,
  type Prediction,
  type PredictionRecord,
  withFirstToken,
} from './ttft-prediction.ts';

/** When first tokens come, by provider; `local` is a fixed engine. */
export interface Predictions {
  sample(id: string, promptBytes: number, ttftMs: number): void;
  /** It was asked, and no first token came before the slow line: what is believed of it still holds. */
  confirm(id: string): void;
  /** Null below 20 samples. */
  at(id: string, promptBytes: number): Prediction | null;
  forget(id: string): void;
  /** Plain JSON of everything, to be kept over a restart. */
  save(): unknown;
  /** Takes what `save` gave; anything else is left out. */
  restore(saved: unknown): void;
}

/**
 * So long a machine is believed to be too slow without being heard of: one that is passed by for what was
 * predicted gives no first token that could prove it wrong.
 */
const BELIEVED_MS = 60_000;

/** Above what all samples can weigh together, with room. */
const MOST_WEIGHT = 100;
const MOST_PRODUCT = MOST_WEIGHT * MOST_BYTES * MOST_MS;

const savedSchema = z.record(
  z.string(),
  z.strictObject({
    samples: z.int().nonnegative(),
    meanBytes: z.number().min(0).max(MOST_BYTES),
    meanTtftMs: z.number().min(0).max(MOST_MS),
    spread: z
      .number()
      .min(0)
      .max(MOST_WEIGHT * MOST_BYTES ** 2),
    covariance: z.number().min(-MOST_PRODUCT).max(MOST_PRODUCT),
    residualMs: z.number().min(0),
    heardWallMs: z.number().min(0),
  }),
);

/** Makes an empty set. */
export function createPredictions(clock: Clock): Predictions {
  const known = new Map<string, { readonly record: PredictionRecord; readonly heardAt: number }>();
  return {
    sample(id, promptBytes, ttftMs) {
      const record = known.get(id)?.record ?? NO_PREDICTION_YET;
      known.set(id, {
        record: withFirstToken(record, { promptBytes, ttftMs }),
        heardAt: clock.ticks(),
      });
    },
    confirm(id) {
      const machine = known.get(id);
      if (machine !== undefined) known.set(id, { ...machine, heardAt: clock.ticks() });
    },
    at(id, promptBytes) {
      const machine = known.get(id);
      const prediction = machine === undefined ? null : predict(machine.record, promptBytes);
      if (machine === undefined || prediction === null) return null;
      return clock.ticks() - machine.heardAt <= BELIEVED_MS
        ? prediction
        : { ...prediction, earliestMs: 0 };
    },
    forget: (id) => void known.delete(id),
    save: () =>
      Object.fromEntries(
        [...known].map(([id, { record, heardAt }]) => [
          id,
          { ...record, heardWallMs: Math.max(0, clock.now() - (clock.ticks() - heardAt)) },
        ]),
      ),
    restore(saved) {
      for (const [id, each] of Object.entries(savedSchema.safeParse(saved).data ?? {})) {
        const { heardWallMs, ...record } = each;
        const heardAt = clock.ticks() - Math.max(0, clock.now() - heardWallMs);
        known.set(id, { record, heardAt });
      }
    },
  };
}
