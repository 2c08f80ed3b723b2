import type { Circuits } from './circuits/circuits.ts';
import type { Stats } from './monitoring/counters.ts';
import type { Prefixes } from './routing/prefixes.ts';

/** What this gateway shares with others: what circuits learn, where requests run, and which prompts machines have read. */
export interface OtherGateways {
  share(own: Circuits): Circuits;
  sharePrefixes(own: Prefixes): Prefixes;
  /** Running requests at a machine, from all gateways together. */
  inFlightBeside(stats: Pick<Stats, 'inFlightAt'>): (id: string) => number;
  start(stats: Pick<Stats, 'running'>): void;
  stop(): void;
}

/** Nothing is shared, which costs no time. */
export const NO_OTHERS: OtherGateways = {
  share: (own) => own,
  sharePrefixes: (own) => own,
  inFlightBeside: (stats) => (id) => stats.inFlightAt(id),
  start() {},
  stop() {},
};
