import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { SettingChoice, SettingsView, SettingView } from '#shared/settings.ts';
import { t } from '../../text/t.ts';

interface Choice extends SettingChoice {
  readonly label: string;
}

export interface Field extends Omit<SettingView, 'choices'> {
  readonly section: string;
  readonly key: string;
  /** The name that the gateway uses in errors, such as `hosted_a.baseUrl`. */
  readonly path: string;
  readonly label: string;
  /** Empty unless the kind is `choice`. */
  readonly choices: readonly Choice[];
}

/** Settings that are saved together. */
export interface Section {
  readonly id: string;
  readonly upstream: UpstreamId | null;
  readonly fields: readonly Field[];
}

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
