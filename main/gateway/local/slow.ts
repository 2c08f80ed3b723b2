import type { Prediction } from './prediction.ts';

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
export function predictedSlow(prediction: Prediction | null, slowLineMs: number): boolean {
  return prediction !== null && prediction.earliestMs > slowLineMs;
}
