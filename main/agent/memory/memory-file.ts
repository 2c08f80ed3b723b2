import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStateFile } from '../../platform/state-file.ts';
import type { HeldModel } from './memory-state.ts';

const FILE = 'agent-memory.json';

const fileSchema = z.object({
  version: z.literal(1),
  toLoad: z.array(z.object({ engine: z.string(), model: z.string() })),
});

/** The models that were unloaded to free the memory, so that they come back after a restart too. */
export function createMemoryFile(
  directory: string,
  toLoad: () => readonly HeldModel[],
  edges: { readonly clock: Clock; readonly log: Log },
) {
  const file = createStateFile(
    join(directory, FILE),
    () => ({ version: 1, toLoad: toLoad() }),
    edges,
  );
  return {
    load: (): readonly HeldModel[] => fileSchema.safeParse(file.load()).data?.toLoad ?? [],
    /** Resolves once they are on disk, or the write has failed and that is logged. */
    save() {
      file.changed();
      return file.flush();
    },
  };
}
