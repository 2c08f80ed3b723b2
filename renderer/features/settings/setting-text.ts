import { assertNever } from '#shared/assert.ts';
import type { SettingsView } from '#shared/settings.ts';
import type { UpstreamReport } from '#shared/status.ts';
import { chosenOf, valueOf, type Draft } from './draft.ts';
import { formatSpan } from '../../text/format.ts';
import type { Field, Section } from './field.ts';
import { t } from '../../text/t.ts';

const words = t.settings;
const { summary } = words;

export function sourceWords({
  value,
  source,
  kind,
}: Pick<Field, 'value' | 'source' | 'kind'>): string {
  switch (source) {
    case 'env':
      return words.sources.env;
    case 'file':
      return kind === 'secret' || kind === 'secrets'
        ? words.sources.secretFile
        : words.sources.file;
    case 'keychain':
      return words.sources.keychain;
    case 'default':
      return isNone(value) ? words.sources.notSet : words.sources.default;
    default:
      return assertNever(source, 'source');
  }
}

export const isSaved = ({ source }: Pick<Field, 'source'>): boolean =>
  source === 'file' || source === 'keychain';

export function placeholderOf(field: Field, draft: Draft | undefined): string {
  const { kind, value } = field;
  if (draft === null || draft === '') return defaultWords(field);
  if (kind === 'headers') return isNone(value) ? '' : JSON.stringify(value);
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'string' ? value : '';
}

function defaultWords(field: Field): string {
  return isNone(field.default) ? words.noDefault : words.default([field.default].flat().join(', '));
}

/** The unit after a number, with longer times and sizes also in a larger unit. */
export function unitOf(field: Field, text: string): string {
  switch (field.kind) {
    case 'celsius':
      return words.units.celsius;
    case 'percent':
      return words.units.percent;
    case 'milliseconds': {
      const ms = valueOf(field, text);
      return typeof ms === 'number' && ms >= 1_000
        ? words.units.msAs(formatSpan(ms))
        : words.units.ms;
    }
    case 'bytes': {
      const bytes = valueOf(field, text);
      return typeof bytes === 'number' && bytes >= MIB
        ? words.units.bytesAs(Math.round((bytes / MIB) * 10) / 10)
        : words.units.bytes;
    }
    default:
      return '';
  }
}

const MIB = 2 ** 20;

/** For a choice, the meaning of the chosen value. */
export function hintOf(field: Field, draft: Draft | undefined): string {
  const chosen = chosenOf(field, draft);
  return field.choices.find(({ value }) => value === chosen)?.meaning ?? field.meaning;
}

/** Name of a section; for an upstream its label. */
export function sectionTitle(
  { id, upstream }: Section,
  upstreams: readonly UpstreamReport[],
): string {
  if (upstream !== null) return upstreams.find((report) => report.id === upstream)?.label ?? id;
  return words.sections[id] ?? id;
}

/** The main values of a section in one line, shown while it is closed. */
export function sectionSummary({ id, upstream }: Section, view: SettingsView): string {
  const value = (key: string): unknown => view[id]?.[key]?.value;
  const ms = (key: string): string => formatSpan(Number(value(key)));
  if (upstream !== null) {
    const parts = [value('model'), value('baseUrl')].filter((part) => typeof part === 'string');
    return value('baseUrl') === null ? summary.notSetUp : parts.join(' · ');
  }
  if (id === 'circuit') {
    return summary.circuit(Number(value('failThreshold')), ms('cooldownMs'));
  }
  if (id === 'agent') {
    if (value('enabled') === false) return summary.off;
    const engine = value('engineUrl');
    return typeof engine === 'string' ? summary.serves(engine) : summary.detects;
  }
  if (id === 'gateway') {
    return summary.listens(String(value('host')), String(value('port')));
  }
  if (id !== 'routing') return '';
  return summary.routing(value('forceZero') === true, ms('idleTimeoutMs'));
}

/** No value, an empty list or no headers. */
function isNone(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The default is empty, so the button reads "Remove". */
export const isNoneByDefault = (field: Field): boolean => isNone(field.default);
