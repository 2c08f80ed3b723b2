import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { SettingsView, SettingView } from '#shared/settings.ts';
import type { Field, Section } from './field.ts';
import { t } from '../../text/t.ts';

/** All settings in the gateway's order; one without a label is named by its key. */
export function sectionsOf(view: SettingsView): readonly Section[] {
  return Object.entries(view).map(([id, settings]) => ({
    id,
    upstream: UPSTREAM_IDS.find((known) => known === id) ?? null,
    fields: Object.entries(settings).map(([key, setting]) => fieldOf(id, key, setting)),
  }));
}

function fieldOf(section: string, key: string, setting: SettingView): Field {
  const choices = (setting.choices ?? []).map((choice) => ({
    ...choice,
    label: t.choiceLabels[key]?.[choice.value] ?? choice.value,
  }));
  const label = t.settingLabels[section]?.[key] ?? spacedOut(key);
  return { ...setting, section, key, path: `${section}.${key}`, label, choices };
}

/** `maxBodyBytes` as "Max body bytes". */
function spacedOut(key: string): string {
  const words = key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
