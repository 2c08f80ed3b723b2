import type { Provider } from '#shared/provider.ts';
import type { Machines } from '../../api/providers.ts';
import { COLLATOR, formatCount } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { gpuFigures, gpuTexts, heartbeatAge, modelText, speedText } from './provider-facts.ts';
import {
  groupOf,
  PROVIDER_GROUPS,
  type ProviderCircuit,
  type ProviderEntry,
  type ProviderFilter,
  type ProviderGroup,
  namesOf,
  providerName,
  providerWords,
  rankOf,
  standingOf,
} from './provider-standing.ts';

type Circuits = Readonly<Record<string, ProviderCircuit>>;

interface Marked {
  /** The one whose engine Local calls directly. */
  readonly directId: string | null;
  /** The gateway's own. */
  readonly hereId: string | null;
}

export function entriesOf(
  machines: Pick<Machines, 'data'> & Partial<Pick<Machines, 'notes'>>,
  circuits: Circuits,
  { directId, hereId }: Marked = { directId: null, hereId: null },
): readonly ProviderEntry[] {
  const { data, notes = {} } = machines;
  const names = namesOf(machines);
  return data.map((provider) => ({
    provider,
    standing: standingOf(provider, circuits[provider.id], provider.id === directId),
    name: names.get(provider.id) ?? providerName(provider),
    note: notes[provider.id]?.note ?? '',
    isHere: provider.id === hereId,
  }));
}

/** True if every word of the text occurs in the machine's searchable text. */
export function matchesText(
  { provider, name, note, isHere }: ProviderEntry,
  text: string,
): boolean {
  const { id, host, chip, current_model, models, region, agent_url, last_heartbeat_ip } = provider;
  const words = [
    name,
    note,
    isHere ? t.providers.here : '',
    id,
    host.hostname,
    host.tailnet_hostname,
    chip,
    current_model,
    ...models,
    region,
    agent_url,
    last_heartbeat_ip,
  ]
    .join('\n')
    .toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => words.includes(word));
}

export const matchesGroup = ({ standing }: ProviderEntry, filter: ProviderFilter): boolean =>
  filter === 'all' || groupOf(standing.kind) === filter;

export type ListLine =
  | { readonly kind: 'group'; readonly group: ProviderGroup; readonly count: number }
  | { readonly kind: 'machine'; readonly entry: ProviderEntry };

/** The sorted lines of the list, with group heads if sorted by state. */
export function linesOf(entries: readonly ProviderEntry[], by: ColumnId): readonly ListLine[] {
  const lines = sorted(entries, by).map((entry) => ({ kind: 'machine', entry }) as const);
  if (by !== 'state') return lines;
  const byGroup = Map.groupBy(lines, ({ entry }) => groupOf(entry.standing.kind));
  return PROVIDER_GROUPS.flatMap((group): readonly ListLine[] => {
    const found = byGroup.get(group) ?? [];
    return found.length === 0 ? [] : [{ kind: 'group', group, count: found.length }, ...found];
  });
}

export function summaryOf(entries: readonly ProviderEntry[]): string {
  if (entries.length === 0) return t.providers.summary.none;
  const count = (group: ProviderGroup): number =>
    entries.filter((entry) => matchesGroup(entry, group)).length;
  return t.providers.summary.of({
    count: entries.length,
    ...(Object.fromEntries(PROVIDER_GROUPS.map((group) => [group, count(group)])) as Readonly<
      Record<ProviderGroup, number>
    >),
  });
}

interface ProviderColumn {
  readonly title: string;
  readonly sort: string;
  readonly before?: string;
  readonly after?: string;
  /** Text before the value for screen readers, which do not read the title. */
  readonly aloud?: string;
  readonly value: (entry: ProviderEntry, serverNow: number) => string;
  /** Sort key: the most interesting first, such as the hottest, the fullest or the longest silent. */
  readonly key: (entry: ProviderEntry) => number | string;
}

interface Figure {
  readonly of: (machine: Provider, serverNow: number) => string;
  readonly by: (machine: Provider) => number | string;
}

const FIGURES = {
  model: { of: modelText, by: modelText },
  load: { of: (m) => gpuTexts(m).load, by: (m) => descending(gpuFigures(m).load) },
  memory: { of: (m) => gpuTexts(m).memory, by: (m) => descending(gpuFigures(m).memoryShare) },
  temperature: {
    of: (m) => gpuTexts(m).temperature,
    by: (m) => descending(gpuFigures(m).temperatureC),
  },
  version: { of: (m) => m.agent_version, by: (m) => m.agent_version },
  speed: { of: (m) => speedText(m.decode_tps), by: (m) => descending(m.decode_tps) },
  inFlight: {
    of: (m) => formatCount(m.concurrentRequests),
    by: (m) => descending(m.concurrentRequests),
  },
  heartbeat: { of: heartbeatAge, by: (m) => Date.parse(m.last_heartbeat) },
} satisfies Record<string, Figure>;

export type ColumnId = 'machine' | 'state' | keyof typeof FIGURES;

export const COLUMN_IDS: readonly ColumnId[] = [
  'machine',
  'state',
  ...(Object.keys(FIGURES) as (keyof typeof FIGURES)[]),
];

/** The columns that contain only a figure. */
export const FIGURE_COLUMNS = COLUMN_IDS.slice(COLUMN_IDS.indexOf('load'));

export function columnOf(id: ColumnId): ProviderColumn {
  const words = t.providers.columns[id];
  if (id === 'machine') return { ...words, value: ({ name }) => name, key: ({ name }) => name };
  if (id === 'state') {
    return {
      ...words,
      value: ({ standing }, serverNow) => providerWords(standing, serverNow).word,
      key: ({ standing: { kind } }) => PROVIDER_GROUPS.indexOf(groupOf(kind)) * 100 + rankOf(kind),
    };
  }
  const { of, by }: Figure = FIGURES[id];
  return {
    ...words,
    value: ({ provider }, serverNow) => of(provider, serverNow),
    key: ({ provider }) => by(provider),
  };
}

/** A sort key for descending order, with unknown figures last. */
const descending = (figure: number | null): number => (figure === null ? Infinity : -figure);

/** The entries sorted by a column; equal ones by name, with numbers compared as numbers. */
export function sorted(entries: readonly ProviderEntry[], by: ColumnId): readonly ProviderEntry[] {
  const { key } = columnOf(by);
  return entries
    .map((entry) => ({ entry, key: key(entry) }))
    .toSorted(
      (a, b) =>
        compare(a.key, b.key) ||
        COLLATOR.compare(a.entry.name, b.entry.name) ||
        COLLATOR.compare(a.entry.provider.id, b.entry.provider.id),
    )
    .map(({ entry }) => entry);
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === 'string' || typeof b === 'string') return COLLATOR.compare(String(a), String(b));
  return a === b ? 0 : a - b;
}
