import { groupOf, PROVIDER_GROUPS, rankOf } from './provider-groups.ts';
import { gpuFigures } from './provider-gpu.ts';
import type { ProviderEntry } from './provider-standing.ts';

export const PROVIDER_SORTS = [
  'state',
  'name',
  'load',
  'memory',
  'temperature',
  'version',
  'speed',
  'inFlight',
  'heartbeat',
] as const;

export type ProviderSort = (typeof PROVIDER_SORTS)[number];

const COLLATOR = new Intl.Collator('en', { numeric: true });

/** What stands first is what one looks for: the hottest, the fullest, the one silent the longest. */
const ORDER: Readonly<Record<Exclude<ProviderSort, 'name' | 'version'>, (a: Placed) => number>> = {
  state: ({ standing: { kind } }) => PROVIDER_GROUPS.indexOf(groupOf(kind)) * 100 + rankOf(kind),
  load: ({ provider }) => descending(gpuFigures(provider).load),
  memory: ({ provider }) => descending(gpuFigures(provider).memoryShare),
  temperature: ({ provider }) => descending(gpuFigures(provider).temperatureC),
  speed: ({ provider }) => descending(provider.decode_tps),
  inFlight: ({ provider }) => descending(provider.concurrentRequests),
  heartbeat: ({ provider }) => Date.parse(provider.last_heartbeat),
};

type Placed = Pick<ProviderEntry, 'provider' | 'standing'>;

/** Unknown figures come last. */
function descending(figure: number | null): number {
  return figure === null ? Infinity : -figure;
}

/** The entries in an order; equal ones by name, with numbers as numbers. */
export function sorted(
  entries: readonly ProviderEntry[],
  by: ProviderSort,
): readonly ProviderEntry[] {
  const byName = (a: ProviderEntry, b: ProviderEntry) =>
    COLLATOR.compare(a.name, b.name) || COLLATOR.compare(a.provider.id, b.provider.id);
  if (by === 'name') return entries.toSorted(byName);
  if (by === 'version') {
    const version = ({ provider }: ProviderEntry) => provider.agent_version;
    return entries.toSorted((a, b) => COLLATOR.compare(version(a), version(b)) || byName(a, b));
  }
  const keyOf = ORDER[by];
  return entries
    .map((entry) => ({ entry, key: keyOf(entry) }))
    .toSorted((a, b) => (a.key === b.key ? byName(a.entry, b.entry) : a.key - b.key))
    .map(({ entry }) => entry);
}
