import { completeAddress } from '#shared/base-url.ts';
import type { Field, Section } from './settings-table.ts';

/** Null resets to the default. */
export type Draft = string | boolean | null;

export type Drafts = Readonly<Record<string, Draft>>;

/** True if the value cannot be read back completely: any input replaces it. */
export function isHidden({ secret, kind, value }: Field): boolean {
  if (secret) return true;
  // Secrets in an address are sent masked, and would be saved masked.
  return kind === 'address' && typeof value === 'string' && value.includes('…');
}

export function textOf(field: Field, draft: Draft | undefined): string {
  const { value } = field;
  if (typeof draft === 'string') return draft;
  if (draft !== undefined || isHidden(field) || value === null) return '';
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export const chosenOf = (field: Field, draft: Draft | undefined): string =>
  String(draft === undefined ? field.value : (draft ?? field.default));

export const isOn = (field: Field, draft: Draft | undefined): boolean =>
  (draft === undefined ? field.value : (draft ?? field.default)) === true;

/** Adds a draft, or removes it if it equals the saved value. */
export function withDraft(drafts: Drafts, field: Field, draft: Draft): Drafts {
  const { [field.path]: _old, ...others } = drafts;
  return isAsSaved(field, draft) ? others : { ...others, [field.path]: draft };
}

function isAsSaved(field: Field, draft: Draft): boolean {
  if (draft === null) return field.source === 'default';
  if (typeof draft === 'boolean') return field.value === draft;
  return draft === textOf(field, undefined);
}

export const withoutSection = (drafts: Drafts, { id }: Section): Drafts =>
  Object.fromEntries(Object.entries(drafts).filter(([path]) => !path.startsWith(`${id}.`)));

export const isDirty = (drafts: Drafts, { fields }: Section): boolean =>
  fields.some(({ path }) => drafts[path] !== undefined);

/** True if unsaved input takes effect only after a restart. */
export const waitsForRestart = (drafts: Drafts, { fields }: Section): boolean =>
  fields.some(({ path, restart }) => drafts[path] !== undefined && restart);

export function patchOf(drafts: Drafts, { id, fields }: Section): object {
  const changes = fields.flatMap((field) => {
    const draft = drafts[field.path];
    return draft === undefined ? [] : [[field.key, valueOf(field, draft)] as const];
  });
  return { [id]: Object.fromEntries(changes) };
}

/** The value of a draft; text that cannot be parsed is sent unchanged, and the gateway says what is allowed. */
export function valueOf({ kind }: Field, draft: Draft): unknown {
  if (typeof draft !== 'string') return draft;
  const text = draft.trim();
  if (text === '') return null;
  switch (kind) {
    case 'milliseconds':
      return asMilliseconds(text);
    case 'bytes':
    case 'count':
    case 'amount':
    case 'celsius':
    case 'port':
      return asNumber(text);
    case 'ports':
      return itemsOf(text).map(asNumber);
    case 'list':
    case 'secrets':
      return itemsOf(text);
    case 'headers':
      return parsed(text);
    case 'address':
      return completeAddress(text);
    default:
      return text;
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, h: 3_600_000 };

/** A plain number is milliseconds; `30 s`, `1.5 min` and `1 h` are understood too. */
function asMilliseconds(text: string): number | string {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)\s*(ms|s|min|h)$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  return unitMs === undefined ? asNumber(text) : Math.round(Number(amount) * unitMs);
}

const asNumber = (text: string): number | string =>
  /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;

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
