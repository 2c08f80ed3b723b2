/** Counts of values up to each bound, as Prometheus has them. */
export interface Histogram {
  readonly bounds: readonly number[];
  observe(value: number): void;
  /** For each bound the values up to it, and last all of them. */
  cumulative(): readonly number[];
  sum(): number;
}

export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  let sum = 0;
  return {
    bounds,
    observe(value) {
      let at = 0;
      while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1;
      counts[at] = (counts[at] ?? 0) + 1;
      sum += value;
    },
    cumulative() {
      let total = 0;
      return counts.map((count) => (total += count));
    },
    sum: () => sum,
  };
}
