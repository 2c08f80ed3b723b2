/** The value below which the share `q` of `values` lies (nearest rank); NaN for none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? NaN;
}

/** The middle value, or the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? NaN)) / 2;
}

/** A figure of several rounds: the middle one, and between which two the middle half of them lie. */
export interface Spread {
  readonly value: number;
  readonly lower: number;
  readonly upper: number;
}

/** Median and quartiles; null for no value. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  return { value: median(values), lower: quantile(values, 0.25), upper: quantile(values, 0.75) };
}
