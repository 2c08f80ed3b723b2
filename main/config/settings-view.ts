import type { SettingSource, SettingsView, SettingView } from '#shared/settings.ts';
import { maskHeaders, maskSecret, maskUrl } from './mask.ts';
import { type Config, ENTRIES, type Entry, valueAt } from './schema.ts';

/** The configuration as it may be shown: every value with its source, secrets masked. */
export function settingsView(
  config: Config,
  sources: ReadonlyMap<string, SettingSource>,
): SettingsView {
  const view: Record<string, Record<string, SettingView>> = {};
  for (const entry of ENTRIES) {
    const value = masked(entry, valueAt(config, entry));
    const source = sources.get(entry.path) ?? 'default';
    const restart = entry.setting.restart ? { restart: true as const } : {};
    (view[entry.section] ??= {})[entry.key] = { value, source, ...restart };
  }
  return view;
}

function masked({ key, setting }: Entry, value: unknown): unknown {
  if (value === null) return null;
  if (key === 'headers') return maskHeaders(value as Readonly<Record<string, string>>);
  if (/url$/i.test(key)) return maskUrl(value as string);
  if (!setting.secret) return value;
  return Array.isArray(value)
    ? (value as readonly string[]).map(maskSecret)
    : maskSecret(value as string);
}
