import type { Provider } from '#shared/provider.ts';
import { t } from '../../text/t.ts';
import {
  groupOf,
  PROVIDER_GROUPS,
  rankOf,
  type ProviderFilter,
  type ProviderGroup,
} from './provider-groups.ts';
import { standingOf, type ProviderCircuit, type Standing } from './provider-standing.ts';
import { providerName } from './provider-text.ts';

/** A machine with its standing. */
export interface ProviderEntry {
  readonly provider: Provider;
  readonly standing: Standing;
}

type Circuits = Readonly<Record<string, ProviderCircuit>>;

const BY_NAME = new Intl.Collator('en', { numeric: true });

/**
 * Every machine with its standing, what needs somebody first, else by name; `directId` is the one whose
 * engine Local asks without the agent.
 */
export function entriesOf(
  providers: readonly Provider[],
  circuits: Circuits,
  directId: string | null = null,
): readonly ProviderEntry[] {
  return providers
    .map((provider) => ({
      provider,
      standing: standingOf(provider, circuits[provider.id], provider.id === directId),
    }))
    .toSorted(
      (a, b) =>
        placeOf(a) - placeOf(b) ||
        BY_NAME.compare(providerName(a.provider), providerName(b.provider)) ||
        BY_NAME.compare(a.provider.id, b.provider.id),
    );
}

/** True for a machine in whose words every word of the text occurs. */
export function matchesText({ provider }: ProviderEntry, text: string): boolean {
  const { id, host, chip, current_model, models, region, agent_url, last_heartbeat_ip } = provider;
  const words = [
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

/** True for a machine that belongs under the filter. */
export function matchesGroup({ standing }: ProviderEntry, filter: ProviderFilter): boolean {
  return filter === 'all' || groupOf(standing.kind) === filter;
}

/** The first entries, in their groups; groups without any are left out. */
export function groupsOf(
  entries: readonly ProviderEntry[],
  limit: number,
): readonly { readonly group: ProviderGroup; readonly entries: readonly ProviderEntry[] }[] {
  const byGroup = Map.groupBy(entries.slice(0, limit), ({ standing }) => groupOf(standing.kind));
  return PROVIDER_GROUPS.flatMap((group) => {
    const found = byGroup.get(group);
    return found ? [{ group, entries: found }] : [];
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

function placeOf({ standing: { kind } }: ProviderEntry): number {
  return PROVIDER_GROUPS.indexOf(groupOf(kind)) * 100 + rankOf(kind);
}
