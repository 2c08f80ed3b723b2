import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { readTextFile, replaceFile } from '../platform/files.ts';

/** A small file of what the desktop app remembers; what cannot be read counts as never written. */
export interface MemoryFile {
  read(): unknown;
  /** Where the disk fails, it is forgotten at the next start. */
  write(value: object): void;
}

export function createMemoryFile(path: string): MemoryFile {
  return {
    read() {
      try {
        return JSON.parse(readTextFile(path) ?? 'null');
      } catch {
        return null;
      }
    },
    write(value) {
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        replaceFile(path, `${JSON.stringify(value, null, 2)}\n`);
      } catch {
        // As said above.
      }
    },
  };
}

const schema = z.object({
  /** Where API keys are to be kept; in the file as well where the system has no keychain. */
  keysIn: z.enum(['keychain', 'file']).default('keychain'),
  /** The system does not sleep while requests run. */
  keepsAwake: z.boolean().default(false),
  looksForUpdates: z.boolean().default(true),
  /** This machine was drained because the system went to sleep, not by its owner. */
  isDrainedForSleep: z.boolean().default(false),
});

/** What the owner has chosen in the menu; of no meaning without the desktop app. */
export type PreferenceValues = Readonly<z.infer<typeof schema>>;

export interface Preferences {
  current(): PreferenceValues;
  change(part: Partial<PreferenceValues>): void;
}

export function createPreferences(file: MemoryFile): Preferences {
  let values = schema.safeParse(file.read() ?? {}).data ?? schema.parse({});
  return {
    current: () => values,
    change(part) {
      values = { ...values, ...part };
      file.write(values);
    },
  };
}
