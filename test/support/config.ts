import { loadConfig, type LoadedConfig } from '../../main/config/load.ts';
import type { KeyFile } from '../../main/config/key-file.ts';
import type { Config } from '../../main/config/schema.ts';
import type { SettingsTree } from '../../main/config/settings-file.ts';

/** What is loaded of settings that are right; by default no file holds any. */
export function loadedOf(
  env: Readonly<Record<string, string | undefined>>,
  file: SettingsTree = {},
  keyFile?: KeyFile,
  sealed?: ReadonlySet<string>,
): LoadedConfig {
  const loaded = loadConfig(env, file, keyFile, sealed);
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  return loaded;
}

/** The configuration that these variables make. */
export const configOf = (env: Readonly<Record<string, string>>): Config => loadedOf(env).config;

/** Settings by the names of their variables, which are given without the prefix. */
export function asVariables(settings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`INGLENOOK_${name}`, value]),
  );
}
