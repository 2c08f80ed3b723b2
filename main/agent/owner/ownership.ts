import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import {
  FREE,
  modeOf,
  observed,
  wished,
  type Observation,
  type OwnerMode,
  type OwnerRules,
  type OwnerState,
  type OwnerWish,
} from '../owner.ts';
import { createOwnerFile } from './owner-file.ts';

/** The owner's say over this machine: a wish, kept over restarts, and the rules of the settings. */
export interface Ownership {
  wish(): OwnerWish;
  rules(): OwnerRules;
  mode(inFlight: number): OwnerMode;
  /** Resolves once it is on disk. */
  setWish(wish: OwnerWish): Promise<void>;
  /** Judges the rules by this moment. */
  observe(seen: Observation): void;
}

/** What the owner's say takes. */
export interface OwnershipDeps {
  readonly dataDirectory: string;
  /** As the settings have them now. */
  readonly rules: () => OwnerRules;
  readonly clock: Clock;
  readonly log: Log;
}

/** Takes up what an earlier run kept; `changed` hears of each change that matters. */
export function createOwnership(deps: OwnershipDeps, changed: () => void): Ownership {
  const { dataDirectory, rules } = deps;
  let state = FREE;
  const file = createOwnerFile(dataDirectory, () => state.wish, deps);
  state = { ...FREE, wish: file.load() };

  function set(next: OwnerState): void {
    const shown = ({ wish, causes, overruled }: OwnerState) =>
      JSON.stringify([wish, causes, overruled]);
    const isNews = shown(state) !== shown(next);
    state = next;
    if (isNews) changed();
  }

  return {
    wish: () => state.wish,
    rules,
    mode: (inFlight) => modeOf(state, rules(), inFlight),
    setWish(wish) {
      set(wished(state, wish));
      return file.save();
    },
    observe: (seen) => set(observed(state, rules(), seen)),
  };
}
