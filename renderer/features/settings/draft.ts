import type { SettingsView, SettingView } from '#shared/settings.ts';
import type { Field, Section } from './field.ts';

/** What was entered for one setting; null asks for the default back. */
export type Draft = string | boolean | null;

/** What was entered and not saved, by path. */
export type Drafts = Readonly<Record<string, Draft>>;

const HIDDEN: ReadonlySet<Field['kind']> = new Set(['secret', 'secrets', 'headers']);

/** True where the value cannot be read back whole: entering anything replaces it. */
export function isHidden(field: Field, { value }: SettingView): boolean {
  if (HIDDEN.has(field.kind)) return true;
  // What may be secret in an address comes masked, and would be saved masked.
  return field.kind === 'address' && typeof value === 'string' && value.includes('…');
}

/** The text of a field as it stands, entered or saved. */
export function textOf(field: Field, setting: SettingView, draft: Draft | undefined): string {
  if (typeof draft === 'string') return draft;
  if (draft !== undefined || isHidden(field, setting) || setting.value === null) return '';
  if (Array.isArray(setting.value)) return setting.value.join(', ');
  return typeof setting.value === 'string' ? setting.value : JSON.stringify(setting.value);
}

/** What is chosen as it stands. */
export function chosenOf(field: Field, { value }: SettingView, draft: Draft | undefined): string {
  return String(draft === undefined ? value : (draft ?? field.fallback));
}

/** Whether a switch is on as it stands. */
export function isOn(field: Field, { value }: SettingView, draft: Draft | undefined): boolean {
  return draft === undefined ? value === true : (draft ?? field.fallback) === true;
}

/** Drafts with one entry more, or less where it is what is saved anyway. */
export function withDraft(
  drafts: Drafts,
  field: Field,
  setting: SettingView,
  draft: Draft,
): Drafts {
  const { [field.path]: _old, ...others } = drafts;
  return isAsSaved(field, setting, draft) ? others : { ...others, [field.path]: draft };
}

function isAsSaved(field: Field, setting: SettingView, draft: Draft): boolean {
  if (draft === null) return setting.source === 'default';
  if (typeof draft === 'boolean') return setting.value === draft;
  return draft === textOf(field, setting, undefined);
}

/** Drafts without those of a section: saved, or given up. */
export function withoutSection(drafts: Drafts, { id }: Section): Drafts {
  return Object.fromEntries(Object.entries(drafts).filter(([path]) => !path.startsWith(`${id}.`)));
}

/** True while something of the section is entered and not saved. */
export function isDirty(drafts: Drafts, { fields }: Section): boolean {
  return fields.some(({ path }) => drafts[path] !== undefined);
}

/** True where something that is entered holds only after a restart. */
export function waitsForRestart(
  drafts: Drafts,
  { id, fields }: Section,
  view: SettingsView,
): boolean {
  return fields.some(({ path, key }) => drafts[path] !== undefined && view[id]?.[key]?.restart);
}

/** What to send for a section's drafts. */
export function patchOf(drafts: Drafts, { id, fields }: Section): object {
  const changes = fields.flatMap((field) => {
    const draft = drafts[field.path];
    return draft === undefined ? [] : [[field.key, wishOf(field, draft)] as const];
  });
  return { [id]: Object.fromEntries(changes) };
}

/** The value meant by a draft; text that is none goes as it is, for the gateway to say what is allowed. */
export function wishOf({ kind }: Field, draft: Draft): unknown {
  if (typeof draft !== 'string') return draft;
  const text = draft.trim();
  if (text === '') return null;
  switch (kind) {
    case 'milliseconds':
    case 'count':
    case 'celsius':
      return asNumber(text);
    case 'percent':
      return asNumber(text.replace(/\s*%$/, ''));
    case 'ports':
      return itemsOf(text).map(asNumber);
    case 'secrets':
      return itemsOf(text);
    case 'headers':
      return parsed(text);
    default:
      return text;
  }
}

function asNumber(text: string): number | string {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function itemsOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
