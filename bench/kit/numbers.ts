/** The value below which the share `q` of `values` lies (nearest rank); NaN for none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? NaN;
}

/** The middle value, or the mean of the two middle ones; NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? NaN)) / 2;
}

/** Beyond each end of an interval of 95 %. */
const TAIL = 0.025;

/**
 * Two of the values between which the median of all such values lies with at least 95 % certainty, however they are
 * distributed: how many of n values lie below it is as with n coins. It needs six values; NaN for fewer.
 */
export function medianInterval(values: readonly number[]): readonly [from: number, to: number] {
  const sorted = values.toSorted((a, b) => a - b);
  const n = sorted.length;
  let leftOut = 0;
  let chance = 0.5 ** n;
  for (let all = chance; all <= TAIL; all += chance) {
    leftOut += 1;
    chance *= (n - leftOut + 1) / leftOut;
  }
  return [sorted[leftOut - 1] ?? NaN, sorted[n - leftOut] ?? NaN];
}
