import type { SettingView } from '#shared/settings.ts';
import type { SettingsState } from '../../api/window-state.ts';

/** The owner's aliases, as far as this window may read them. */
export function aliasSetting(settings: SettingsState): SettingView | null {
  return settings.kind === 'read' ? (settings.view['routing']?.['modelAliases'] ?? null) : null;
}

/** Each as `name=model`. */
export function aliasPairs(setting: SettingView | null): readonly string[] {
  const value = setting?.value;
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

/** The model that a name is mapped to by itself, not by a pattern; null if it is not. */
export function mappedTo(pairs: readonly string[], name: string): string | null {
  const pair = pairs.find((each) => each.startsWith(`${name}=`));
  return pair === undefined ? null : pair.slice(name.length + 1);
}

/** The pairs with the name mapped to another model; null takes its alias away. */
export function withAlias(
  pairs: readonly string[],
  name: string,
  model: string | null,
): readonly string[] {
  const others = pairs.filter((each) => !each.startsWith(`${name}=`));
  return model === null ? others : [...others, `${name}=${model}`];
}

/** Whether a name can stand in the setting: it has no blank, comma or equals sign. */
export function canBeMapped(name: string): boolean {
  return /^[^\s,=*]{1,200}$/.test(name);
}
