import type { LoadedConfig } from '../config.ts';
import { ENV_PREFIX } from '../config.ts';
import { ENTRIES, type Config } from './settings.ts';
import { writeSetting } from './settings-file.ts';

/** Whether a change was made; a refusal says why, for people. */
export type Change = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** The configuration in force: a value that is replaced as a whole when a setting changes. */
export interface LiveConfig {
  current(): Config;
  /** Changes one setting, here and in the settings file. */
  set(path: string, value: unknown): Change;
}

/** Makes it from what was loaded at the start. */
export function createLiveConfig(
  loaded: LoadedConfig,
  directory: string,
  changed: () => void,
): LiveConfig {
  let config = loaded.config;
  return {
    current: () => config,
    set(path, value) {
      const entry = ENTRIES.find((each) => each.path === path);
      if (entry === undefined) return { ok: false, message: `There is no setting ${path}.` };
      const { section, key, setting } = entry;
      if (loaded.sources.get(path) === 'env') {
        const name = ENV_PREFIX + setting.env;
        return { ok: false, message: `${path} is set by ${name}; change it there and restart.` };
      }
      if (!setting.kind.schema.safeParse(value).success) {
        return { ok: false, message: `${path} must be ${setting.kind.allowed}.` };
      }
      writeSetting(directory, path, value);
      const before = config[section as keyof Config];
      config = { ...config, [section]: { ...before, [key]: value } };
      changed();
      return { ok: true };
    },
  };
}
