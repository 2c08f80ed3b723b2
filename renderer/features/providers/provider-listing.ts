import type { Machines } from '../../api/provider-pages.ts';
import { t } from '../../text/t.ts';
import {
  groupOf,
  PROVIDER_GROUPS,
  type ProviderFilter,
  type ProviderGroup,
} from './provider-groups.ts';
import { type ColumnId, sorted } from './provider-columns.ts';
import { standingOf, type ProviderCircuit, type ProviderEntry } from './provider-standing.ts';
import { providerName } from './provider-text.ts';

type Circuits = Readonly<Record<string, ProviderCircuit>>;

/** Every machine with its standing; `directId` is the one whose engine Local calls directly. */
export function entriesOf(
  { data, notes = {} }: Pick<Machines, 'data'> & Partial<Pick<Machines, 'notes'>>,
  circuits: Circuits,
  directId: string | null = null,
): readonly ProviderEntry[] {
  return data.map((provider) => ({
    provider,
    standing: standingOf(provider, circuits[provider.id], provider.id === directId),
    name: notes[provider.id]?.name || providerName(provider),
    note: notes[provider.id]?.note ?? '',
  }));
}

/** True if every word of the text occurs in the machine's searchable text. */
export function matchesText({ provider, name, note }: ProviderEntry, text: string): boolean {
  const { id, host, chip, current_model, models, region, agent_url, last_heartbeat_ip } = provider;
  const words = [
    name,
    note,
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

/** True if the machine matches the filter. */
export function matchesGroup({ standing }: ProviderEntry, filter: ProviderFilter): boolean {
  return filter === 'all' || groupOf(standing.kind) === filter;
}

/** A line of the list: a machine, or the head of a group. */
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
    ready: count('ready'),
    attention: count('attention'),
    arriving: count('arriving'),
    resting: count('resting'),
  });
}
