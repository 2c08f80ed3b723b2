import type { Provider } from '#shared/provider.ts';
import type { Machines } from '../../api/providers.ts';
import { COLLATOR, formatCount } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { gpuFigures, gpuTexts, heartbeatAge, modelText, speedText } from './provider-facts.ts';
import {
  groupOf,
  PROVIDER_FILTERS,
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

interface MarkedIds {
  /** The machine whose engine `local` calls directly. */
  readonly directId: string | null;
  /** The gateway's own machine. */
  readonly hereId: string | null;
}

export function entriesOf(
  machines: Pick<Machines, 'data'> & Partial<Pick<Machines, 'notes'>>,
  circuits: Circuits,
  { directId, hereId }: MarkedIds = { directId: null, hereId: null },
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
  | { readonly kind: 'group'; readonly group: ProviderGroup }
  | { readonly kind: 'machine'; readonly entry: ProviderEntry };

/** The sorted lines of the list, with group heads if sorted by state. */
export function linesOf(entries: readonly ProviderEntry[], by: ColumnId): readonly ListLine[] {
  const lines = sorted(entries, by).map((entry) => ({ kind: 'machine', entry }) as const);
  if (by !== 'state') return lines;
  const byGroup = Map.groupBy(lines, ({ entry }) => groupOf(entry.standing.kind));
  return PROVIDER_GROUPS.flatMap((group): readonly ListLine[] => {
    const found = byGroup.get(group) ?? [];
    return found.length === 0 ? [] : [{ kind: 'group', group }, ...found];
  });
}

export function countsOf(entries: readonly ProviderEntry[]) {
  const counts = PROVIDER_FILTERS.map((filter) => [
    filter,
    entries.filter((entry) => matchesGroup(entry, filter)).length,
  ]);
  return Object.fromEntries(counts) as Readonly<Record<ProviderFilter, number>>;
}

interface ProviderColumn {
  readonly value: (entry: ProviderEntry, serverNow: number) => string;
  /** Sort key: the most interesting first, such as the hottest, the fullest or the longest silent. */
  readonly key: (entry: ProviderEntry) => number | string;
}

export type ColumnId = keyof typeof t.providers.columns;

const figure = (
  of: (machine: Provider, serverNow: number) => string,
  by: (machine: Provider) => number | string,
): ProviderColumn => ({
  value: ({ provider }, serverNow) => of(provider, serverNow),
  key: ({ provider }) => by(provider),
});

/** A sort key for descending order, with unknown figures last. */
const descending = (value: number | null): number => (value === null ? Infinity : -value);

export const COLUMNS: Readonly<Record<ColumnId, ProviderColumn>> = {
  machine: { value: ({ name }) => name, key: ({ name }) => name },
  state: {
    value: ({ standing }, serverNow) => providerWords(standing, serverNow).word,
    key: ({ standing: { kind } }) => PROVIDER_GROUPS.indexOf(groupOf(kind)) * 100 + rankOf(kind),
  },
  model: figure(modelText, modelText),
  load: figure(
    (machine) => gpuTexts(machine).load,
    (machine) => descending(gpuFigures(machine).load),
  ),
  memory: figure(
    (machine) => gpuTexts(machine).memory,
    (machine) => descending(gpuFigures(machine).memoryShare),
  ),
  temperature: figure(
    (machine) => gpuTexts(machine).temperature,
    (machine) => descending(gpuFigures(machine).temperatureC),
  ),
  version: figure(
    ({ agent_version }) => agent_version,
    ({ agent_version }) => agent_version,
  ),
  speed: figure(
    ({ decode_tps }) => speedText(decode_tps),
    ({ decode_tps }) => descending(decode_tps),
  ),
  inFlight: figure(
    ({ concurrentRequests }) => formatCount(concurrentRequests),
    ({ concurrentRequests }) => -concurrentRequests,
  ),
  heartbeat: figure(heartbeatAge, ({ last_heartbeat }) => Date.parse(last_heartbeat)),
};

export const COLUMN_IDS = Object.keys(COLUMNS) as ColumnId[];

/** The entries sorted by a column; equal ones by name, with numbers compared as numbers. */
export function sorted(entries: readonly ProviderEntry[], by: ColumnId): readonly ProviderEntry[] {
  return entries
    .map((entry) => ({ entry, key: COLUMNS[by].key(entry) }))
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
