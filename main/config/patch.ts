import { isObject } from '#shared/objects.ts';
import type { SettingSource } from '#shared/settings.ts';
import { openToTheNetwork } from './exposure.ts';
import { ENTRIES, ENV_PREFIX, type Config, type Entry, type SettingChange } from './settings.ts';

/** What a wish for changes comes to: all of them, or none and the first reason. */
export type PatchPlan =
  | {
      readonly kind: 'planned';
      readonly changes: readonly SettingChange[];
      readonly config: Config;
    }
  | {
      readonly kind: 'refused';
      readonly code: 'invalid_request' | 'set_by_environment';
      readonly message: string;
      /** The setting's path, or null where no single one is meant. */
      readonly param: string | null;
    };

/** Holds a tree of plain values against the table; null stands for "as if it had never been set". */
export function planPatch(
  tree: unknown,
  config: Config,
  sources: ReadonlyMap<string, SettingSource>,
): PatchPlan {
  if (!isObject(tree))
    return invalid('Send an object of sections, such as {"ondemand":{"warmup":false}}.', null);
  const changes: SettingChange[] = [];
  for (const [section, keys] of Object.entries(tree)) {
    if (!isObject(keys)) return invalid(`'${section}' must be an object of settings.`, section);
    const isKnown = ENTRIES.some((entry) => entry.section === section);
    if (!isKnown && Object.keys(keys).length === 0) {
      return invalid(`There is no section '${section}'.`, section);
    }
    for (const [key, value] of Object.entries(keys)) {
      const path = `${section}.${key}`;
      const entry = ENTRIES.find((each) => each.path === path);
      if (entry === undefined) return invalid(`There is no setting '${path}'.`, path);
      const problem = problemWith(entry, value, sources);
      if (problem !== null) return problem;
      changes.push({ entry, value: value ?? undefined });
    }
  }
  const next = changes.reduce(withChange, config);
  const [open] = openToTheNetwork(next);
  return open === undefined
    ? { kind: 'planned', changes, config: next }
    : invalid(open, 'gateway.apiKeys');
}

function problemWith(
  { path, setting }: Entry,
  value: unknown,
  sources: ReadonlyMap<string, SettingSource>,
): PatchPlan | null {
  if (sources.get(path) === 'env') {
    const name = ENV_PREFIX + setting.env;
    const message = `'${path}' is set by ${name}; change it there and restart.`;
    return { kind: 'refused', code: 'set_by_environment', message, param: path };
  }
  if (value === null || setting.kind.schema.safeParse(value).success) return null;
  return invalid(`'${path}' must be ${setting.kind.allowed}.`, path);
}

function withChange(config: Config, { entry, value }: SettingChange): Config {
  const section = entry.section as keyof Config;
  const settled = value === undefined ? entry.setting.fallback : value;
  return { ...config, [section]: { ...config[section], [entry.key]: settled } };
}

function invalid(message: string, param: string | null): PatchPlan {
  return { kind: 'refused', code: 'invalid_request', message, param };
}
