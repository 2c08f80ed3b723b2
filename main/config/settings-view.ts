import type { SettingSource, SettingsView, SettingView } from '#shared/settings.ts';
import { maskHeaders, maskSecret, maskUrl } from './mask.ts';
import { type Config, ENTRIES, type Entry, ENV_PREFIX, valueAt } from './schema.ts';

/** The configuration as it may be shown: every setting with its value and source, secrets masked. */
export function settingsView(
  config: Config,
  sources: ReadonlyMap<string, SettingSource>,
): SettingsView {
  const view: Record<string, Record<string, SettingView>> = {};
  for (const entry of ENTRIES) {
    const { env, kind, fallback, meaning, secret, restart } = entry.setting;
    (view[entry.section] ??= {})[entry.key] = {
      value: masked(entry, valueAt(config, entry)),
      source: sources.get(entry.path) ?? 'default',
      env: ENV_PREFIX + env,
      kind: kind.name,
      default: fallback,
      allowed: kind.allowed,
      meaning,
      ...(kind.choices === undefined ? {} : { choices: kind.choices }),
      ...(secret ? { secret } : {}),
      ...(restart ? { restart } : {}),
    };
  }
  return view;
}

function masked({ setting: { kind, secret } }: Entry, value: unknown): unknown {
  if (value === null) return null;
  if (kind.name === 'headers') return maskHeaders(value as Readonly<Record<string, string>>);
  if (kind.name === 'address') return maskUrl(value as string);
  if (!secret) return value;
  return Array.isArray(value)
    ? (value as readonly string[]).map(maskSecret)
    : maskSecret(value as string);
}
