import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { readTextFile, replaceFile } from '../platform/files.ts';

/** A small state file of the desktop app; one that cannot be read counts as empty. */
export type JsonFile = ReturnType<typeof createJsonFile>;

export function createJsonFile(path: string) {
  return {
    read() {
      try {
        return JSON.parse(readTextFile(path) ?? 'null');
      } catch {
        return null;
      }
    },
    /** Never fails. */
    write(value: object) {
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        replaceFile(path, `${JSON.stringify(value, null, 2)}\n`);
      } catch {
        // The value is lost at the next start.
      }
    },
  };
}

const schema = z.object({
  /** Where to keep API keys; without a keychain they are always in the file. */
  keysIn: z.enum(['keychain', 'file']).default('keychain'),
  looksForUpdates: z.boolean().default(true),
  /** Whether the machine was drained because the system went to sleep, and not by its owner. */
  isDrainedForSleep: z.boolean().default(false),
  /** Whether the owner was told that closing the window leaves the gateway running. */
  isTrayExplained: z.boolean().default(false),
});

/** What the owner has chosen in the menu; the headless gateway does not read it. */
export type Preferences = ReturnType<typeof createPreferences>;

export function createPreferences(file: JsonFile) {
  let values = schema.safeParse(file.read() ?? {}).data ?? schema.parse({});
  return {
    current: () => values,
    change(part: Partial<typeof values>) {
      values = { ...values, ...part };
      file.write(values);
    },
  };
}
