import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { SettingChoice, SettingsView, SettingView } from '#shared/settings-view.ts';
import * as t from '../../text/t.ts';

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

export interface Section {
  readonly id: string;
  /** The upstream of the section; null for other sections. */
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

/** What almost everybody sets of an upstream, in this order. */
const ESSENTIALS = ['label', 'baseUrl', 'apiKey', 'model', 'priceInput', 'priceOutput'];

const GROUPS = {
  connection: ['models', 'headers', 'timeoutMs'],
  price: ['priceCached', 'budgetDay', 'budgetMonth'],
};

/** The fields of a section, of an upstream with the essentials first; other sections show all of theirs. */
export function arrangedFields({ upstream, fields }: Section) {
  if (upstream === null) return { essential: fields, more: [] };
  const named = (keys: readonly string[]) =>
    keys.flatMap((key) => fields.find((field) => field.key === key) ?? []);
  const placed = new Set([...ESSENTIALS, ...Object.values(GROUPS).flat()]);
  const groups = [
    { name: 'connection' as const, fields: named(GROUPS.connection) },
    { name: 'price' as const, fields: named(GROUPS.price) },
    { name: 'advanced' as const, fields: fields.filter(({ key }) => !placed.has(key)) },
  ];
  return {
    essential: named(ESSENTIALS),
    more: groups.filter((group) => group.fields.length > 0),
  };
}

/** The fields that match what was searched for; all of them if the section's title does. */
export function matchingFields({ fields, id }: Section, title: string, query: string) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  if (has(title)) return fields;
  return fields.filter(({ label, meaning, env, path }) =>
    has([title, label, meaning, env, path, id].join(' ')),
  );
}
