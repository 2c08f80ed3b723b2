import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import type { UpstreamCall } from '../upstream/call.ts';

type Routing = Config['routing'];

/**
 * Whether `to` may be asked while `from` is slow. By itself nobody's prompt or money leaves the house
 * because `local` was slow: that takes `all`.
 */
export function mayHedge(hedge: Routing['hedge'], from: UpstreamId, to: UpstreamId): boolean {
  if (hedge === 'off') return false;
  return hedge === 'all' || (from === 'local') === (to === 'local');
}

/** A plain answer comes as a whole, however fast its first token was: that it takes long says nothing. */
export function showsContent({ mode }: UpstreamCall): boolean {
  return mode !== 'whole';
}

/** After so many milliseconds without content a call is slow. */
export function hedgeDelayMs({ routing, circuit }: Config): number {
  return routing.hedgeMs ?? circuit.ttftThresholdMs;
}

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
