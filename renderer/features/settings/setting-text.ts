import type { SettingsView, SettingView } from '#shared/settings.ts';
import type { UpstreamReport } from '#shared/status.ts';
import { chosenOf, wishOf, type Draft } from './draft.ts';
import { formatDuration, formatPlural } from '../../text/format.ts';
import type { Field, Section } from './field.ts';

/** Stands in for a setting that an older gateway does not know. */
export const UNKNOWN_SETTING: SettingView = { value: null, source: 'default' };

/** One setting of the tree. */
export function settingAt(view: SettingsView, { section, key }: Field): SettingView {
  return view[section]?.[key] ?? UNKNOWN_SETTING;
}

/** Where a value comes from, in a word or two. */
export function sourceWords({ value, source }: SettingView): string {
  switch (source) {
    case 'env':
      return 'environment';
    case 'file':
      return 'set here';
    case 'default':
      return value === null || isEmptyObject(value) ? 'not set' : 'default';
  }
}

/** What an empty field shows of what is behind it. */
export function placeholderOf(
  field: Field,
  { value }: SettingView,
  draft: Draft | undefined,
): string {
  if (draft === null || draft === '') return fallbackWords(field);
  if (field.kind === 'headers') return isEmptyObject(value) ? '' : JSON.stringify(value);
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'string' ? value : '';
}

/** The default of a field in words. */
function fallbackWords({ fallback }: Field): string {
  return fallback === null ? 'none' : `default: ${[fallback].flat().join(', ')}`;
}

/** What stands behind a number: the unit, and longer times in words. */
export function unitOf(field: Field, text: string): string {
  if (field.kind === 'celsius') return '°C';
  if (field.kind === 'percent') return '%';
  if (field.kind !== 'milliseconds') return '';
  const ms = wishOf(field, text);
  return typeof ms === 'number' && ms >= 1_000 ? `ms = ${formatDuration(ms)}` : 'ms';
}

/** What there is to know of a setting as it stands; of a choice, what comes of it. */
export function hintOf(field: Field, setting: SettingView, draft: Draft | undefined): string {
  const chosen = chosenOf(field, setting, draft);
  return field.choices?.find(({ value }) => value === chosen)?.hint ?? field.hint;
}

/** Name of a section; an upstream has the one that its owner gave it. */
export function sectionTitle(
  { id, upstream }: Section,
  upstreams: readonly UpstreamReport[],
): string {
  if (upstream !== null) return upstreams.find((report) => report.id === upstream)?.label ?? id;
  return TITLES[id] ?? id;
}

const TITLES: Readonly<Record<string, string>> = {
  circuit: 'Breakers',
  routing: 'Routing',
  agent: 'This machine',
  gateway: 'Gateway',
};

/** What a section amounts to, for those who do not open it. */
export function sectionSummary({ id, upstream }: Section, view: SettingsView): string {
  const value = (key: string): unknown => view[id]?.[key]?.value;
  const ms = (key: string): string => formatDuration(Number(value(key)));
  if (upstream !== null) {
    const parts = [value('model'), value('baseUrl')].filter((part) => typeof part === 'string');
    return value('baseUrl') === null ? 'not set up' : parts.join(' · ');
  }
  if (id === 'circuit') {
    return `open after ${formatPlural(Number(value('failThreshold')), 'failure')}, for ${ms('cooldownMs')}`;
  }
  if (id === 'agent') {
    if (value('enabled') === false) return 'switched off';
    const engine = value('engineUrl');
    return `serves ${typeof engine === 'string' ? engine : 'whatever engine is found'}`;
  }
  if (id === 'gateway') {
    const port = value('port') === 0 ? 'any free port' : `port ${String(value('port'))}`;
    return `${String(value('host'))}, ${port}`;
  }
  return `${value('forceZero') === true ? 'never spends money' : 'may spend money'} · silence up to ${ms('idleTimeoutMs')}`;
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
