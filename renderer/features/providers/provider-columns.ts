import { COLLATOR, formatCount } from '../../text/format.ts';
import { heartbeatAge, modelText, speedText } from './provider-facts.ts';
import { gpuFigures, gpuTexts } from './provider-gpu.ts';
import { groupOf, PROVIDER_GROUPS, rankOf } from './provider-groups.ts';
import type { ProviderEntry } from './provider-standing.ts';
import { providerWords } from './provider-text.ts';
import { t } from '../../text/t.ts';

type Placed = Pick<ProviderEntry, 'provider' | 'standing' | 'name'>;

/** A column of the list of machines, which is also a way to sort it. */
interface ProviderColumn extends ColumnWords {
  readonly value: (entry: Placed, serverNow: number) => string;
  /** What stands first is what one looks for: the hottest, the fullest, the one silent the longest. */
  readonly key: (entry: Placed) => number | string;
}

interface ColumnWords {
  readonly title: string;
  readonly sort: string;
  /** Around the value. */
  readonly before?: string;
  readonly after?: string;
  /** Before the value, where the title is not read. */
  readonly aloud?: string;
}

const words = t.providers.columns;

const COLUMNS = {
  machine: { ...words.machine, value: ({ name }) => name, key: ({ name }) => name },
  state: {
    ...words.state,
    value: ({ standing }, serverNow) => providerWords(standing, serverNow).word,
    key: ({ standing: { kind } }) => PROVIDER_GROUPS.indexOf(groupOf(kind)) * 100 + rankOf(kind),
  },
  model: {
    ...words.model,
    value: ({ provider }) => modelText(provider),
    key: ({ provider }) => modelText(provider),
  },
  load: {
    ...words.load,
    value: ({ provider }) => gpuTexts(provider).load,
    key: ({ provider }) => descending(gpuFigures(provider).load),
  },
  memory: {
    ...words.memory,
    value: ({ provider }) => gpuTexts(provider).memory,
    key: ({ provider }) => descending(gpuFigures(provider).memoryShare),
  },
  temperature: {
    ...words.temperature,
    value: ({ provider }) => gpuTexts(provider).temperature,
    key: ({ provider }) => descending(gpuFigures(provider).temperatureC),
  },
  version: {
    ...words.version,
    value: ({ provider }) => provider.agent_version,
    key: ({ provider }) => provider.agent_version,
  },
  speed: {
    ...words.speed,
    value: ({ provider }) => speedText(provider.decode_tps),
    key: ({ provider }) => descending(provider.decode_tps),
  },
  inFlight: {
    ...words.inFlight,
    value: ({ provider }) => formatCount(provider.concurrentRequests),
    key: ({ provider }) => descending(provider.concurrentRequests),
  },
  heartbeat: {
    ...words.heartbeat,
    value: ({ provider }, serverNow) => heartbeatAge(provider, serverNow),
    key: ({ provider }) => Date.parse(provider.last_heartbeat),
  },
} satisfies Record<string, ProviderColumn>;

export type ColumnId = keyof typeof COLUMNS;

/** From left to right. */
export const COLUMN_IDS = Object.keys(COLUMNS) as readonly ColumnId[];

/** Those that are a figure each; the others have more to say than their value. */
export const FIGURE_COLUMNS = COLUMN_IDS.slice(COLUMN_IDS.indexOf('load'));

export const columnOf = (id: ColumnId): ProviderColumn => COLUMNS[id];

/** Unknown figures come last. */
function descending(figure: number | null): number {
  return figure === null ? Infinity : -figure;
}

/** The entries in an order; equal ones by name, with numbers as numbers. */
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
