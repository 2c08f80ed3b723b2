import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStateFile } from '../../platform/state-file.ts';
import {
  FREE,
  modeOf,
  type Observation,
  observed,
  type OwnerMode,
  type OwnerRules,
  type OwnerState,
  type OwnerWish,
  wished,
} from './policy.ts';

/** The owner's say over this machine: a wish, kept over restarts, and the rules of the settings. */
export interface Availability {
  wish(): OwnerWish;
  rules(): OwnerRules;
  mode(inFlight: number): OwnerMode;
  /** Resolves once it is on disk. */
  setWish(wish: OwnerWish): Promise<void>;
  /** Judges the rules by this moment. */
  observe(seen: Observation): void;
}

/** What the owner's say takes. */
interface AvailabilityDeps {
  readonly dataDirectory: string;
  /** As the settings have them now. */
  readonly rules: () => OwnerRules;
  readonly clock: Clock;
  readonly log: Log;
}

/** Takes up what an earlier run kept; `changed` hears of each change that matters. */
export function createAvailability(deps: AvailabilityDeps, changed: () => void): Availability {
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

/** Earlier versions kept rules beside the wish, which nobody could set; those are settings now. */
const fileSchema = z.object({
  version: z.literal(1),
  wish: z.enum(['on', 'paused', 'drained']) satisfies z.ZodType<OwnerWish>,
});

const FILE = 'agent-owner.json';

/** Keeps the owner's wish over restarts. */
interface OwnerFile {
  /** As it was left; `on` where nothing was, or nothing that can be read. */
  load(): OwnerWish;
  /** Resolves once what `wish` gives is on disk, or the disk has failed and that is logged. */
  save(): Promise<void>;
}

/** Makes the keeper of the file in `directory`. */
function createOwnerFile(
  directory: string,
  wish: () => OwnerWish,
  edges: { readonly clock: Clock; readonly log: Log },
): OwnerFile {
  const content = () => ({ version: 1, wish: wish() });
  const file = createStateFile(join(directory, FILE), content, edges);
  return {
    load: () => fileSchema.safeParse(file.load()).data?.wish ?? 'on',
    save() {
      file.changed();
      return file.flush();
    },
  };
}
