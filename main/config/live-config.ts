import type { SettingSource, SettingsView } from '#shared/settings.ts';
import type { LoadedConfig } from '../config.ts';
import { planPatch, type PatchPlan } from './patch.ts';
import type { Config } from './settings.ts';
import { writeSettings } from './settings-file.ts';
import { settingsView } from './settings-view.ts';

/** Whether a change was made and is on disk. */
export type Patched =
  | { readonly kind: 'patched' }
  | Extract<PatchPlan, { readonly kind: 'refused' }>
  /** The disk would not take it; nothing changed. */
  | { readonly kind: 'unwritten'; readonly message: string };

/** The configuration in force: a value that is replaced as a whole when a setting changes. */
export interface LiveConfig {
  current(): Config;
  /** Every value with its source, secrets masked. */
  view(): SettingsView;
  /** Takes all changes of the tree or none: written first, then in force. */
  patch(tree: unknown): Patched;
}

/** Makes it from what was loaded at the start; `changed` hears of each replacement. */
export function createLiveConfig(
  loaded: LoadedConfig,
  directory: string,
  changed: (now: Config, before: Config) => void,
): LiveConfig {
  let { config } = loaded;
  const sources = new Map<string, SettingSource>(loaded.sources);
  return {
    current: () => config,
    view: () => settingsView(config, sources),
    patch(tree) {
      const plan = planPatch(tree, config, sources);
      if (plan.kind === 'refused') return plan;
      try {
        writeSettings(directory, plan.changes);
      } catch (error) {
        const why = error instanceof Error ? error.message : 'unknown error';
        return { kind: 'unwritten', message: `The settings file could not be written: ${why}` };
      }
      for (const { entry, value } of plan.changes) {
        sources.set(entry.path, value === undefined ? 'default' : 'file');
      }
      const before = config;
      config = plan.config;
      changed(config, before);
      return { kind: 'patched' };
    },
  };
}
