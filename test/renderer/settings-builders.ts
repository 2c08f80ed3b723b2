import type { SettingSource, SettingsView } from '#shared/settings-view.ts';
import { settingsView } from '../../main/config/live-config.ts';
import { type Field, sectionsOf } from '../../renderer/features/settings/settings-table.ts';
import { loadedOf } from '../support/config.ts';

/** The settings as a gateway with this environment answers them. */
export function viewOf(env: Readonly<Record<string, string>> = {}): SettingsView {
  const { config, sources } = loadedOf(env);
  return settingsView(config, sources);
}

export const SECTIONS = sectionsOf(viewOf());
export const FIELDS = SECTIONS.flatMap(({ fields }) => fields);

/** The field of a path, with nothing set. */
export function fieldAt(path: string): Field {
  const found = FIELDS.find((field) => field.path === path);
  if (found === undefined) throw new Error(`there is no setting ${path}`);
  return found;
}

/** A field with a value that was saved. */
export function saved(field: Field, value: unknown, source: SettingSource = 'file'): Field {
  return { ...field, value, source };
}
