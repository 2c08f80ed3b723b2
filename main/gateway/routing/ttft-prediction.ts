/** What one machine's first tokens have taught: sums over prompt length and time, the newest counting most. */
export interface PredictionRecord {
  /** First tokens, ever. */
  readonly samples: number;
  readonly meanBytes: number;
  readonly meanTtftMs: number;
  /** Squared distances of the prompts' lengths from their mean. */
  readonly spread: number;
  /** The same distances times those of the times from theirs. */
  readonly covariance: number;
  /** By how much predictions missed, without regard to the side. */
  readonly residualMs: number;
}

/** When the first token of an answer comes, as far as the machine's past tells. */
export interface Prediction {
  /** The time to first token to be expected. */
  readonly ttftMs: number;
  /** It can hardly come before; 0 where that cannot be told. */
  readonly earliestMs: number;
  /** The part that goes by the prompt's length; 0 where all prompts were alike, for then nothing tells it. */
  readonly prefillMs: number;
}

/** A first token: how long the prompt was and how long it took. */
export interface FirstToken {
  readonly promptBytes: number;
  readonly ttftMs: number;
}

/** A machine of which nothing has been learned. */
export const NO_PREDICTION_YET: PredictionRecord = {
  samples: 0,
  meanBytes: 0,
  meanTtftMs: 0,
  spread: 0,
  covariance: 0,
  residualMs: 0,
};

/** Below it nothing is predicted. */
const MIN_SAMPLES = 20;
/** What a sample weighs when the next has come: half after 23, so that another model or rate is soon learned. */
const KEPT = 0.97;
/** A line through fewer is none yet, and what it misses says nothing of the machine. */
const UNJUDGED = 10;
/** The longest body and the longest time-out that can be configured: beyond is no reading of a machine. */
export const MOST_BYTES = 2 ** 30;
export const MOST_MS = 86_400_000;

/** Learns from a first token, by recursive least squares; centred sums stay exact for prompts far from 0. */
export function withFirstToken(
  record: PredictionRecord,
  { promptBytes, ttftMs }: FirstToken,
): PredictionRecord {
  if (!isWithin(promptBytes, MOST_BYTES) || !isWithin(ttftMs, MOST_MS)) return record;
  const samples = record.samples + 1;
  const weight = weightOf(samples);
  const offMs = ttftMs - record.meanTtftMs;
  const offBytes = promptBytes - record.meanBytes;
  const meanBytes = record.meanBytes + offBytes / weight;
  const { msPerByte, overheadMs } = lineOf(record);
  const missedMs = Math.abs(ttftMs - overheadMs - msPerByte * promptBytes);
  const judged = samples - UNJUDGED;
  return {
    samples,
    meanBytes,
    meanTtftMs: record.meanTtftMs + offMs / weight,
    spread: KEPT * record.spread + offBytes * (promptBytes - meanBytes),
    covariance: KEPT * record.covariance + offMs * (promptBytes - meanBytes),
    residualMs:
      judged < 1 ? 0 : record.residualMs + (missedMs - record.residualMs) / weightOf(judged),
  };
}

/** When the first token of a prompt comes; null below 20 samples. */
export function predict(record: PredictionRecord, promptBytes: number): Prediction | null {
  if (record.samples < MIN_SAMPLES || !isWithin(promptBytes, MOST_BYTES)) return null;
  const { msPerByte, overheadMs } = lineOf(record);
  const prefillMs = msPerByte * promptBytes;
  const ttftMs = overheadMs + prefillMs;
  const soonestMs = msPerByte === 0 ? ttftMs * shareOf(promptBytes, record) : ttftMs;
  const doubtMs = 2 * record.residualMs * (msPerByte === 0 ? 1 : farOff(promptBytes, record));
  return { ttftMs, earliestMs: Math.max(0, soonestMs - doubtMs), prefillMs };
}

/** Without a slope the whole of the time may have been prefill: a shorter prompt then takes its share of it. */
function shareOf(promptBytes: number, { meanBytes }: PredictionRecord): number {
  return promptBytes < meanBytes ? promptBytes / meanBytes : 1;
}

/** A slope's error grows with the distance from the prompts that it was learned from (prediction interval). */
function farOff(promptBytes: number, { meanBytes, spread }: PredictionRecord): number {
  return Math.sqrt(1 + (promptBytes - meanBytes) ** 2 / spread);
}

interface Line {
  readonly msPerByte: number;
  readonly overheadMs: number;
}

/** The least-squares line of which neither part is below 0; level where the prompts' lengths tell nothing. */
function lineOf(record: PredictionRecord): Line {
  const { samples, meanBytes, meanTtftMs, spread, covariance, residualMs } = record;
  const level = { msPerByte: 0, overheadMs: meanTtftMs };
  // In all less than a byte apart: they are alike, but for rounding.
  if (spread < 1) return level;
  const msPerByte = covariance / spread;
  // Within twice its error a slope may be chance, and carried to long prompts chance grows to minutes.
  if (msPerByte * Math.sqrt(spread) <= 2 * residualMs) return level;
  const overheadMs = meanTtftMs - msPerByte * meanBytes;
  if (overheadMs >= 0) return { msPerByte, overheadMs };
  const weight = weightOf(samples);
  const throughZero =
    (covariance + weight * meanBytes * meanTtftMs) / (spread + weight * meanBytes ** 2);
  return { msPerByte: throughZero, overheadMs: 0 };
}

/** What so many samples weigh together. */
function weightOf(samples: number): number {
  return (1 - KEPT ** samples) / (1 - KEPT);
}

function isWithin(value: number, most: number): boolean {
  return value >= 0 && value <= most;
}

/**
 * The time to first token as far as it counts for slowness: less what the prompt's length was predicted to
 * cost, so that a long prompt alone makes no machine slow, while one that got slow as such still counts.
 * Where all prompts were alike nothing tells the length's part, and nothing is excused. The prediction is the
 * one from before this first token, which would otherwise excuse itself.
 */
export function slowTtftMs(ttftMs: number, prediction: Prediction | null): number {
  return Math.max(0, ttftMs - (prediction?.prefillMs ?? 0));
}

/** Whether a first token cannot come before the slow line, by all that is known of the machine. */
export function predictedSlow(prediction: Prediction | null, hedgeDelayMs: number): boolean {
  return prediction !== null && prediction.earliestMs > hedgeDelayMs;
}
