import type { PoolAnnouncement } from '#shared/pool.ts';
import type { ProviderEvent } from '#shared/provider.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { ProviderTable, TableEntry } from './provider-table.ts';
import type { Refusal } from '../platform/http/routes.ts';
import type {
  ProviderPart,
  Store,
  StoreChange,
  StoredEnrollment,
  StoredState,
  WriteResult,
} from './store/store.ts';
import type { VerificationTurn, VerifierPort } from './verifier-port.ts';

export interface RegistryContext {
  readonly table: ProviderTable;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly verifier: VerifierPort;
  /** The agents' tokens are derived from it; it is kept outside the database. */
  readonly gatewaySecret: string;
  readonly heartbeatMs: () => number;
  /** The name of the pool that this gateway is in, or could be in; agents sign for it once it has been announced. */
  readonly poolId: string;
  readonly sharing: RegistrySharing;
}

/** How a registry works with others on the same store. */
export interface RegistrySharing {
  /** Applies to `memory` what others write from now on. */
  begin(memory: RegistryMemory): void;
  start(): void;
  stop(): void;
  /**
   * What is unknown here may just have been written by another gateway: resolves once it has been read, or with a
   * refusal if that is impossible now.
   */
  catchUp(): Promise<Refusal | null>;
  /** Part of the answers to agents. */
  announced(): { readonly pool?: PoolAnnouncement };
  /** The addresses in a join command; `own` is this gateway's. */
  joinAddresses(own: string): readonly string[];
  /** Whether this registry is the one that records silence and removes machines. */
  isSweeper(): boolean;
  /** Whether another gateway should verify it, because that one receives its heartbeats. */
  isHeardElsewhere(entry: TableEntry): boolean;
  /** Asks for the turn to verify a machine; left out where there are no others. */
  readonly turn?: (entry: TableEntry) => Promise<VerificationTurn | null>;
  /** Whether no later result is known; to be called before that of a turn is written. */
  conclude(entry: TableEntry, turn: VerificationTurn): boolean;
}

/** What others may change in a registry's memory. */
export interface RegistryMemory extends RegistryContext {
  readonly tokens: {
    putBack(enrollment: StoredEnrollment): void;
    drop(digest: string): void;
  };
  /** Takes documents as written; `isRemoved` tells by name which are gone. */
  readonly absorbNotes: (
    documents: StoredState['documents'],
    isRemoved: (name: string) => boolean,
  ) => void;
  readonly gone: (id: string) => void;
}

/** No other gateway writes the store. */
export const ALONE: RegistrySharing = {
  begin() {},
  start() {},
  stop() {},
  catchUp: () => Promise.resolve(null),
  announced: () => ({}),
  joinAddresses: (own) => [own],
  isSweeper: () => true,
  isHeardElsewhere: () => false,
  conclude: () => true,
};

/** A failed write is logged; its content is written with the provider's next change. */
export async function write(
  changes: readonly StoreChange[],
  parts: RegistryContext,
): Promise<WriteResult> {
  const { store, log } = parts;
  const result = await store.write(changes);
  if (result.kind === 'unwritten') log('warn', 'registry_unwritten', { error: result.message });
  return result;
}

/** The whole stored provider, of which `part` has changed. */
export function providerChange(
  { stored, isOwn }: Pick<TableEntry, 'stored' | 'isOwn'>,
  part: ProviderPart,
): StoreChange {
  return { kind: 'provider', provider: stored, part, ...(isOwn ? { isOwn } : {}) };
}

export function eventChange(
  { id }: TableEntry,
  at: number,
  [kind, text]: readonly [ProviderEvent['kind'], string],
): StoreChange {
  return {
    kind: 'event',
    event: { providerId: id, at, kind, text: text.slice(0, MAX_EVENT_CHARS) },
  };
}

/** Failure reasons can be long, but a history must stay readable. */
const MAX_EVENT_CHARS = 500;

/** A history line if the status differs from the last one noted. */
export function statusEvents(entry: TableEntry, { table, clock }: RegistryContext): StoreChange[] {
  const status = table.status(entry);
  if (status === null || status === entry.notedStatus) return [];
  entry.notedStatus = status;
  return [eventChange(entry, clock.now(), ['status', status])];
}
