import { maskMistyped } from './config/mask.ts';
import type { SettingSource } from '#shared/settings.ts';
import { openToTheNetwork } from './config/exposure.ts';
import { ENTRIES, ENV_PREFIX, type Config, type Entry } from './config/settings.ts';
import type { SettingsTree } from './config/settings-file.ts';

export type { Config } from './config/settings.ts';

/** Variables that are not settings of the running program: where its files are, how it is started. */
const OTHER_VARIABLES = new Set(['DATA_DIR']);

export interface LoadedConfig {
  readonly kind: 'loaded';
  readonly config: Config;
  /** Where each value came from, by path. */
  readonly sources: ReadonlyMap<string, SettingSource>;
  readonly warnings: readonly string[];
}

export interface RefusedConfig {
  readonly kind: 'refused';
  /** One line each: the variable, its value (secrets masked) and what is allowed. */
  readonly problems: readonly string[];
}

/**
 * Settles every setting: environment, else settings file, else default.
 * A bad value in the environment refuses the start; it never silently becomes a default.
 */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  file: SettingsTree,
): LoadedConfig | RefusedConfig {
  const problems: string[] = [];
  const sources = new Map<string, SettingSource>();
  const sections: Record<string, Record<string, unknown>> = {};
  for (const entry of ENTRIES) {
    const settled = settle(entry, env, file);
    if (settled.kind === 'bad') problems.push(settled.problem);
    else {
      (sections[entry.section] ??= {})[entry.key] = settled.value;
      sources.set(entry.path, settled.source);
    }
  }
  // Every key of the table was filled above, each with a value that its own schema accepted.
  const config = sections as unknown as Config;
  if (problems.length === 0) problems.push(...openToTheNetwork(config));
  if (problems.length > 0) return { kind: 'refused', problems };
  return { kind: 'loaded', config, sources, warnings: unknownVariables(env) };
}

type Settled =
  | { readonly kind: 'good'; readonly value: unknown; readonly source: SettingSource }
  | { readonly kind: 'bad'; readonly problem: string };

function settle(
  { section, key, setting }: Entry,
  env: Readonly<Record<string, string | undefined>>,
  file: SettingsTree,
): Settled {
  const name = ENV_PREFIX + setting.env;
  const text = env[name]?.trim();
  if (text !== undefined && text !== '') {
    const parsed = setting.kind.schema.safeParse(setting.kind.fromText(text));
    if (parsed.success) return { kind: 'good', value: parsed.data, source: 'env' };
    const shown = (setting.kind.shown ?? maskMistyped)(text);
    return { kind: 'bad', problem: `${name} is "${shown}" but must be ${setting.kind.allowed}` };
  }
  const stored = file[section]?.[key];
  if (stored !== undefined && stored !== null)
    return { kind: 'good', value: stored, source: 'file' };
  return { kind: 'good', value: setting.fallback, source: 'default' };
}

function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set(ENTRIES.map(({ setting }) => setting.env));
  return Object.keys(env)
    .filter((name) => name.startsWith(ENV_PREFIX))
    .map((name) => name.slice(ENV_PREFIX.length))
    .filter((name) => !known.has(name) && !OTHER_VARIABLES.has(name))
    .map((name) => `${ENV_PREFIX}${name} is not a setting of this version and is ignored`);
}
