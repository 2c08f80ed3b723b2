import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStateFile } from '../../platform/state-file.ts';
import {
  afterLook,
  afterOrder,
  INITIAL_STATE,
  modeOf,
  type OwnerMode,
  type OwnerState,
  type OwnerWish,
} from './policy.ts';
import type { Observation, OwnerRules } from './rules.ts';

/** Whether this machine takes work: the owner's order, which outlives restarts, and the rules of the settings. */
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
  /** As the settings have them now. */
  readonly rules: () => OwnerRules;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts from the order that an earlier run saved; `changed` is called when more than the GPU's phase changes. */
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
      set(afterOrder(state, wish));
      return file.save();
    },
    look: (seen) => set(afterLook(state, rules(), seen)),
  };
}

/** Earlier versions saved rules beside the order, which nobody could set; those are settings now. */
const fileSchema = z.object({
  version: z.literal(1),
  wish: z.enum(['on', 'paused', 'drained']) satisfies z.ZodType<OwnerWish>,
});

const FILE = 'agent-owner.json';

interface OwnerFile {
  /** `on` where nothing was saved, or nothing that can be read. */
  load(): OwnerWish;
  /** Resolves once what `wish` gives is on disk, or the disk has failed and that is logged. */
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
