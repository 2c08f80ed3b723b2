/** How often requests may cost twice: a share of the last ones, and at least so many of them. */
export interface HedgeBudget {
  /** A request has come in. */
  requested(): void;
  /**
   * Whether one more hedge is within `percent` of the last requests, or below `atLeast`: as many as it takes to
   * find out that an upstream is hung. A share of 0 allows none.
   */
  allows(percent: number, atLeast: number): boolean;
  spend(): void;
}

/** So many requests are looked back upon. */
const WINDOW = 200;

/** Makes a budget of which nothing is spent. */
export function createHedgeBudget(): HedgeBudget {
  const hedges = new Uint8Array(WINDOW);
  let newest = 0;
  let seen = 0;
  let spent = 0;
  return {
    requested() {
      newest = (newest + 1) % WINDOW;
      seen = Math.min(seen + 1, WINDOW);
      spent -= hedges[newest] ?? 0;
      hedges[newest] = 0;
    },
    allows: (percent, atLeast) =>
      percent > 0 && spent < Math.max(atLeast, Math.floor((seen * percent) / 100)),
    spend() {
      hedges[newest] = (hedges[newest] ?? 0) + 1;
      spent += 1;
    },
  };
}
