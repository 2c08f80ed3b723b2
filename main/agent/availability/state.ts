import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStateFile } from '../../platform/state-file.ts';
import {
  afterObservation,
  afterWish,
  INITIAL_STATE,
  modeOf,
  type OwnerMode,
  type OwnerState,
  type OwnerWish,
} from './policy.ts';
import type { Observation, OwnerRules } from './rules.ts';

/**
 * Whether this machine takes requests: the mode that the owner wants, which survives restarts, and the rules in the
 * settings.
 */
export interface Availability {
  wish(): OwnerWish;
  rules(): OwnerRules;
  mode(inFlight: number): OwnerMode;
  /** Resolves once it is on disk. */
  setWish(wish: OwnerWish): Promise<void>;
  look(seen: Observation): void;
}

interface AvailabilityDeps {
  readonly dataDirectory: string;
  /** From the current settings. */
  readonly rules: () => OwnerRules;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts from the mode that an earlier run saved; `changed` is called when more than the GPU's phase changes. */
export function createAvailability(deps: AvailabilityDeps, changed: () => void): Availability {
  const { dataDirectory, rules } = deps;
  let state = INITIAL_STATE;
  const file = createOwnerFile(dataDirectory, () => state.wish, deps);
  state = { ...INITIAL_STATE, wish: file.load() };

  function set(next: OwnerState): void {
    const shown = ({ wish, holding, overruled }: OwnerState) =>
      JSON.stringify([wish, holding, overruled]);
    const hasChanged = shown(state) !== shown(next);
    state = next;
    if (hasChanged) changed();
  }

  return {
    wish: () => state.wish,
    rules,
    mode: (inFlight) => modeOf(state, rules(), inFlight),
    setWish(wish) {
      set(afterWish(state, wish));
      return file.save();
    },
    look: (seen) => set(afterObservation(state, rules(), seen)),
  };
}

/** Earlier versions also saved rules here, which nobody could set; rules are settings now. */
const fileSchema = z.object({
  version: z.literal(1),
  wish: z.enum(['on', 'paused', 'drained']) satisfies z.ZodType<OwnerWish>,
});

const FILE = 'agent-owner.json';

interface OwnerFile {
  /** `on` if nothing readable was saved. */
  load(): OwnerWish;
  /** Resolves once the value of `wish` is on disk, or the write has failed and that is logged. */
  save(): Promise<void>;
}

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
