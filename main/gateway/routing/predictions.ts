import { z } from 'zod';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';

/** Exponentially weighted sums over prompt length and time to first token of one machine. */
export interface PredictionRecord {
  /** Lifetime count. */
  readonly samples: number;
  readonly meanBytes: number;
  readonly meanTtftMs: number;
  /** Weighted sum of squared deviations of the prompts' lengths. */
  readonly spread: number;
  /** Weighted sum of length deviation times time deviation. */
  readonly covariance: number;
  /** Weighted mean absolute error of the predictions. */
  readonly residualMs: number;
}

export interface Prediction {
  readonly ttftMs: number;
  /** Lower end of the prediction interval; 0 where it is unknown. */
  readonly earliestMs: number;
  /** Upper end of the prediction interval; Infinity where it is unknown. */
  readonly latestMs: number;
  /** The part that grows with the prompt's length; 0 where all prompts were about equally long. */
  readonly prefillMs: number;
}

export interface FirstToken {
  readonly promptBytes: number;
  readonly ttftMs: number;
}

/** The mean of a machine's samples, of which newer ones have more weight. */
export interface MeanFirstToken extends FirstToken {
  readonly samples: number;
}

export const NO_PREDICTION_YET: PredictionRecord = {
  samples: 0,
  meanBytes: 0,
  meanTtftMs: 0,
  spread: 0,
  covariance: 0,
  residualMs: 0,
};

/** Below it there is no prediction. */
const MIN_SAMPLES = 20;
/** Weight kept per newer sample: half after 23, so that a change of model or load is soon learned. */
const KEPT = 0.97;
/** The first samples, whose errors are not counted: a line through so few misses by chance. */
const UNCOUNTED_SAMPLES = 10;
/** The largest body and the longest timeout that can be configured: larger samples are not real. */
const MAX_PROMPT_BYTES = 2 ** 30;
const MAX_TTFT_MS = 86_400_000;

/** Adds a sample by recursive least squares; centred sums stay exact for prompts far from 0. */
export function withFirstToken(
  record: PredictionRecord,
  { promptBytes, ttftMs }: FirstToken,
): PredictionRecord {
  if (!isInRange(promptBytes, MAX_PROMPT_BYTES) || !isInRange(ttftMs, MAX_TTFT_MS)) return record;
  const samples = record.samples + 1;
  const weight = weightOf(samples);
  const timeDeviation = ttftMs - record.meanTtftMs;
  const byteDeviation = promptBytes - record.meanBytes;
  const meanBytes = record.meanBytes + byteDeviation / weight;
  const { msPerByte, overheadMs } = lineOf(record);
  const errorMs = Math.abs(ttftMs - overheadMs - msPerByte * promptBytes);
  const counted = samples - UNCOUNTED_SAMPLES;
  return {
    samples,
    meanBytes,
    meanTtftMs: record.meanTtftMs + timeDeviation / weight,
    spread: KEPT * record.spread + byteDeviation * (promptBytes - meanBytes),
    covariance: KEPT * record.covariance + timeDeviation * (promptBytes - meanBytes),
    residualMs:
      counted < 1 ? 0 : record.residualMs + (errorMs - record.residualMs) / weightOf(counted),
  };
}

/** Without a slope, prompts this many times as long as usual may take any time; short ones take about the same. */
const KNOWN_FACTOR = 2;
const SHORT_BYTES = 2048;

/** Null below 20 samples. */
export function predict(record: PredictionRecord, promptBytes: number): Prediction | null {
  if (record.samples < MIN_SAMPLES || !isInRange(promptBytes, MAX_PROMPT_BYTES)) return null;
  const { msPerByte, overheadMs } = lineOf(record);
  const prefillMs = msPerByte * promptBytes;
  const ttftMs = overheadMs + prefillMs;
  const atBestMs = msPerByte === 0 ? ttftMs * shareOf(promptBytes, record) : ttftMs;
  const marginMs =
    2 * record.residualMs * (msPerByte === 0 ? 1 : extrapolationFactor(promptBytes, record));
  const earliestMs = Math.max(0, atBestMs - marginMs);
  const knownBytes = KNOWN_FACTOR * Math.max(record.meanBytes, SHORT_BYTES);
  const isUnknown = msPerByte === 0 && promptBytes > knownBytes;
  return {
    ttftMs,
    earliestMs,
    latestMs: isUnknown ? Infinity : ttftMs + marginMs,
    prefillMs,
  };
}

/** Without a slope all of the time may have been prefill: a shorter prompt may then take its share of it. */
function shareOf(promptBytes: number, { meanBytes }: PredictionRecord): number {
  return promptBytes < meanBytes ? promptBytes / meanBytes : 1;
}

/** A slope's error grows with the distance from the prompts that it was learned from (prediction interval). */
function extrapolationFactor(promptBytes: number, { meanBytes, spread }: PredictionRecord): number {
  return Math.sqrt(1 + (promptBytes - meanBytes) ** 2 / spread);
}

interface Line {
  readonly msPerByte: number;
  readonly overheadMs: number;
}

/** The least-squares line with neither part below 0; level where the prompts' lengths explain nothing. */
function lineOf(record: PredictionRecord): Line {
  const { samples, meanBytes, meanTtftMs, spread, covariance, residualMs } = record;
  const level = { msPerByte: 0, overheadMs: meanTtftMs };
  // Less than a byte apart in all: equal but for rounding.
  if (spread < 1) return level;
  const msPerByte = covariance / spread;
  // A slope within twice its error may be chance, and extrapolated to long prompts it would grow to minutes.
  if (msPerByte * Math.sqrt(spread) <= 2 * residualMs) return level;
  const overheadMs = meanTtftMs - msPerByte * meanBytes;
  if (overheadMs >= 0) return { msPerByte, overheadMs };
  const weight = weightOf(samples);
  const throughZero =
    (covariance + weight * meanBytes * meanTtftMs) / (spread + weight * meanBytes ** 2);
  return { msPerByte: throughZero, overheadMs: 0 };
}

/** Total weight of `samples` samples. */
function weightOf(samples: number): number {
  return (1 - KEPT ** samples) / (1 - KEPT);
}

function isInRange(value: number, max: number): boolean {
  return value >= 0 && value <= max;
}

/**
 * The part of a time to first token that counts as slow: without the predicted prefill, so that a long prompt
 * alone does not make a machine slow. Where all prompts were about equally long the prefill is unknown and
 * nothing is subtracted. `prediction` must be older than this first token, which would otherwise excuse
 * itself.
 */
export function slowTtftMs(ttftMs: number, prediction: Prediction | null): number {
  return Math.max(0, ttftMs - (prediction?.prefillMs ?? 0));
}

/** Whether even the lower end of the prediction misses the hedge delay. */
export function predictedSlow(prediction: Prediction | null, delayMs: number): boolean {
  return prediction !== null && prediction.earliestMs > delayMs;
}

/** Silence of this many times the upper end of the prediction is a hang. */
const HUNG_FACTOR = 5;
/** In hedge delays, the shortest silence that is a hang: a machine that is usually quick may pause. */
const MIN_HUNG_DELAYS = 2;

/** The silence after which an engine has hung rather than is slow; Infinity where nothing is predicted. */
export function hungAfterMs(prediction: Prediction | null, delayMs: number): number {
  if (prediction === null) return Infinity;
  return Math.max(HUNG_FACTOR * prediction.latestMs, MIN_HUNG_DELAYS * delayMs);
}

/** Predicted times to first token by provider id; a fixed engine has the id `local`. */
export type Predictions = ReturnType<typeof createPredictions>;

/**
 * How long a prediction without a newer sample can exclude a machine or give up a call: one that is passed over as
 * slow gives no first token that could correct its prediction, and one that idles may unload its model.
 */
const FRESH_MS = 60_000;

/** A call without content for this long is slow. */
export function hedgeDelayMs({ routing, circuit }: Pick<Config, 'routing' | 'circuit'>): number {
  return routing.hedgeMs ?? circuit.ttftThresholdMs;
}

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

export function createPredictions(clock: Clock) {
  const known = new Map<string, { readonly record: PredictionRecord; readonly freshAt: number }>();
  return {
    sample(id: string, promptBytes: number, ttftMs: number) {
      const record = known.get(id)?.record ?? NO_PREDICTION_YET;
      known.set(id, {
        record: withFirstToken(record, { promptBytes, ttftMs }),
        freshAt: clock.ticks(),
      });
    },
    /** It was called and stayed silent past the hedge delay: its prediction counts as fresh again. */
    confirm(id: string) {
      const machine = known.get(id);
      if (machine !== undefined) known.set(id, { ...machine, freshAt: clock.ticks() });
    },
    /** Null below 20 samples. */
    at(id: string, promptBytes: number): Prediction | null {
      const machine = known.get(id);
      const prediction = machine === undefined ? null : predict(machine.record, promptBytes);
      if (machine === undefined || prediction === null) return null;
      return clock.ticks() - machine.freshAt <= FRESH_MS
        ? prediction
        : { ...prediction, earliestMs: 0, latestMs: Infinity };
    },
    meanAt(id: string): MeanFirstToken | null {
      const record = known.get(id)?.record;
      return record === undefined || record.samples === 0
        ? null
        : {
            promptBytes: record.meanBytes,
            ttftMs: record.meanTtftMs,
            samples: weightOf(record.samples),
          };
    },
    forget: (id: string) => void known.delete(id),
    save: (): unknown =>
      Object.fromEntries(
        [...known].map(([id, { record, freshAt }]) => [
          id,
          { ...record, heardWallMs: Math.max(0, clock.now() - (clock.ticks() - freshAt)) },
        ]),
      ),
    /** Takes the result of `save`; anything else is ignored. */
    restore(saved: unknown) {
      for (const [id, each] of Object.entries(savedSchema.safeParse(saved).data ?? {})) {
        const { heardWallMs, ...record } = each;
        const freshAt = clock.ticks() - Math.max(0, clock.now() - heardWallMs);
        known.set(id, { record, freshAt });
      }
    },
  };
}
