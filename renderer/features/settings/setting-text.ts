import { assertNever } from '#shared/assert.ts';
import type { SettingsView } from '#shared/settings.ts';
import type { UpstreamReport } from '#shared/status.ts';
import { chosenOf, valueOf, type Draft } from './draft.ts';
import { formatDuration, formatPlural } from '../../text/format.ts';
import type { Field, Section } from './field.ts';

export function sourceWords({
  value,
  source,
  kind,
}: Pick<Field, 'value' | 'source' | 'kind'>): string {
  switch (source) {
    case 'env':
      return 'environment';
    case 'file':
      return kind === 'secret' || kind === 'secrets' ? 'in a file' : 'set here';
    case 'keychain':
      return 'in the keychain';
    case 'default':
      return isNone(value) ? 'not set' : 'default';
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
  return isNone(field.default) ? 'none' : `default: ${[field.default].flat().join(', ')}`;
}

/** The unit after a number; longer times and sizes also in a larger one. */
export function unitOf(field: Field, text: string): string {
  switch (field.kind) {
    case 'celsius':
      return '°C';
    case 'percent':
      return '%';
    case 'milliseconds': {
      const ms = valueOf(field, text);
      return typeof ms === 'number' && ms >= 1_000 ? `ms = ${formatDuration(ms)}` : 'ms';
    }
    case 'bytes': {
      const bytes = valueOf(field, text);
      return typeof bytes === 'number' && bytes >= MIB ? `bytes = ${mebibytes(bytes)}` : 'bytes';
    }
    default:
      return '';
  }
}

const MIB = 2 ** 20;
const mebibytes = (bytes: number): string => `${Math.round((bytes / MIB) * 10) / 10} MiB`;

/** For a choice, the meaning of the chosen value. */
export function hintOf(field: Field, draft: Draft | undefined): string {
  const chosen = chosenOf(field, draft);
  return field.choices.find(({ value }) => value === chosen)?.meaning ?? field.meaning;
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
  circuit: 'Circuit breakers',
  routing: 'Routing',
  agent: 'This machine',
  gateway: 'Gateway',
};

/** The main values of a section, in one line for when it is closed. */
export function sectionSummary({ id, upstream }: Section, view: SettingsView): string {
  const value = (key: string): unknown => view[id]?.[key]?.value;
  const ms = (key: string): string => formatDuration(Number(value(key)));
  if (upstream !== null) {
    const parts = [value('model'), value('baseUrl')].filter((part) => typeof part === 'string');
    return value('baseUrl') === null ? 'not set up' : parts.join(' · ');
  }
  if (id === 'circuit') {
    return `skip after ${formatPlural(Number(value('failThreshold')), 'failure')}, retry after ${ms('cooldownMs')}`;
  }
  if (id === 'agent') {
    if (value('enabled') === false) return 'switched off';
    const engine = value('engineUrl');
    return typeof engine === 'string' ? `serves ${engine}` : 'detects its engine automatically';
  }
  if (id === 'gateway') {
    const port = value('port') === 0 ? 'any free port' : `port ${String(value('port'))}`;
    return `${String(value('host'))}, ${port}`;
  }
  if (id !== 'routing') return '';
  const spending = value('forceZero') === true ? 'never spends money' : 'paid upstreams allowed';
  return `${spending} · idle timeout ${ms('idleTimeoutMs')}`;
}

/** No value, an empty list or no headers. */
function isNone(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The default is empty, so the button reads "Remove". */
export const isNoneByDefault = (field: Field): boolean => isNone(field.default);
