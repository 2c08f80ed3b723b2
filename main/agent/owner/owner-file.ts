import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStateFile } from '../../platform/state-file.ts';
import { FREE, type OwnerRules, type OwnerState, type OwnerWish } from '../owner.ts';

/** What an owner may say, from a request or a settings file. */
export const ownerRulesSchema: z.ZodType<OwnerRules> = z.strictObject({
  onlyWhenIdle: z.boolean(),
  notOnBattery: z.boolean(),
  maxGpuTemperatureC: z.number().min(30).max(120).nullable(),
  yieldToOthers: z.boolean(),
});

const fileSchema = z.object({
  version: z.literal(1),
  wish: z.enum(['on', 'paused', 'drained']) satisfies z.ZodType<OwnerWish>,
  rules: ownerRulesSchema,
});

const FILE = 'agent-owner.json';

/** Keeps the owner's wishes over restarts. */
export interface OwnerFile {
  /** As it was left; free where nothing was, or nothing that can be read. */
  load(): OwnerState;
  /** Resolves once what `state` gives is on disk, or the disk has failed and that is logged. */
  save(): Promise<void>;
}

/** Makes the keeper of the file in `directory`. */
export function createOwnerFile(
  directory: string,
  state: () => OwnerState,
  edges: { readonly clock: Clock; readonly log: Log },
): OwnerFile {
  const content = () => {
    const { wish, rules } = state();
    return { version: 1, wish, rules };
  };
  const file = createStateFile(join(directory, FILE), content, edges);
  return {
    load() {
      const { data } = fileSchema.safeParse(file.load());
      return data === undefined ? FREE : { ...FREE, wish: data.wish, rules: data.rules };
    },
    save() {
      file.changed();
      return file.flush();
    },
  };
}
