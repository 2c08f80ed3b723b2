import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import type { UpstreamCall } from '../upstream/call.ts';

type Routing = Config['routing'];

/**
 * Whether `to` may be called while `from` is slow. Only `all` lets a prompt go to a hosted upstream, and
 * cost money, because `local` was slow.
 */
export function mayHedge(hedge: Routing['hedge'], from: UpstreamId, to: UpstreamId): boolean {
  if (hedge === 'off') return false;
  return hedge === 'all' || (from === 'local') === (to === 'local');
}

/** An answer that comes as a whole shows no first token, so its duration does not tell whether it is slow. */
export function showsContent({ mode }: UpstreamCall): boolean {
  return mode !== 'whole';
}

/** A call without content for this long is hedged. */
export function hedgeDelayMs({ routing, circuit }: Config): number {
  return routing.hedgeMs ?? circuit.ttftThresholdMs;
}

/** Limits how many of the recent requests may cost twice. */
export interface HedgeBudget {
  /** Counts a request. */
  requested(): void;
  /**
   * Whether one more hedge is within `percent` of the recent requests, or below `atLeast`: as many as it
   * takes for the circuit of an upstream that hangs to open. 0 percent allows none.
   */
  allows(percent: number, atLeast: number): boolean;
  spend(): void;
}

/** Requests that the budget is computed over. */
const WINDOW = 200;

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
