/** How often requests may cost twice: a share of the last ones, and at least one of them. */
export interface HedgeBudget {
  /** A request has come in. */
  requested(): void;
  /** Whether one more hedge is within `percent` of the last requests. */
  allows(percent: number): boolean;
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
    allows: (percent) => percent > 0 && spent < Math.max(1, Math.floor((seen * percent) / 100)),
    spend() {
      hedges[newest] = (hedges[newest] ?? 0) + 1;
      spent += 1;
    },
  };
}
