import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStateFile } from '../../platform/state-file.ts';
import type { OwnerWish } from '../owner.ts';

/** Earlier versions kept rules beside the wish, which nobody could set; those are settings now. */
const fileSchema = z.object({
  version: z.literal(1),
  wish: z.enum(['on', 'paused', 'drained']) satisfies z.ZodType<OwnerWish>,
});

const FILE = 'agent-owner.json';

/** Keeps the owner's wish over restarts. */
export interface OwnerFile {
  /** As it was left; `on` where nothing was, or nothing that can be read. */
  load(): OwnerWish;
  /** Resolves once what `wish` gives is on disk, or the disk has failed and that is logged. */
  save(): Promise<void>;
}

/** Makes the keeper of the file in `directory`. */
export function createOwnerFile(
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
