import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import {
  FREE,
  modeOf,
  observed,
  ruled,
  wished,
  type Observation,
  type OwnerMode,
  type OwnerRules,
  type OwnerState,
  type OwnerWish,
} from '../owner.ts';
import { createOwnerFile } from './owner-file.ts';

/** The owner's say over this machine, kept over restarts. */
export interface Ownership {
  state(): OwnerState;
  mode(inFlight: number): OwnerMode;
  /** Resolves once it is on disk. */
  wish(wish: OwnerWish): Promise<void>;
  rule(rules: OwnerRules): Promise<void>;
  observe(seen: Observation): void;
}

/** Takes up what an earlier run kept; `changed` hears of each change that matters. */
export function createOwnership(
  directory: string,
  edges: { readonly clock: Clock; readonly log: Log },
  changed: () => void,
): Ownership {
  let state = FREE;
  const file = createOwnerFile(directory, () => state, edges);
  state = file.load();

  function set(next: OwnerState): void {
    const shown = ({ wish, rules, causes, overruled }: OwnerState) =>
      JSON.stringify([wish, rules, causes, overruled]);
    const isNews = shown(state) !== shown(next);
    state = next;
    if (isNews) changed();
  }

  return {
    state: () => state,
    mode: (inFlight) => modeOf(state, inFlight),
    wish(wish) {
      set(wished(state, wish));
      return file.save();
    },
    rule(rules) {
      set(ruled(state, rules));
      return file.save();
    },
    observe: (seen) => set(observed(state, seen)),
  };
}
