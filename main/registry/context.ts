import type { ProviderEvent } from '#shared/provider.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { TableEntry } from './provider-entry.ts';
import type { PoolAnnouncement } from './responses.ts';
import type { PoolSharing } from './pool/sharing.ts';
import type { ProviderTable } from './provider-table.ts';
import { type Refusal, unwritten } from './responses.ts';
import type { StoreChange, ProviderPart, Store, WriteResult } from './store/store.ts';
import type { VerifierPort } from './verifier-port.ts';

/** Shared by the parts of the registry. */
export interface RegistryContext {
  readonly table: ProviderTable;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly verifier: VerifierPort;
  readonly gatewaySecret: string;
  readonly heartbeatMs: () => number;
  /** The name of the pool that this gateway is in, or could be; agents sign for it once it was announced. */
  readonly poolId: string;
  /** Part of the answers to agents; empty where this gateway has its machines alone. */
  readonly announced: () => { readonly pool?: PoolAnnouncement };
  /** Null where this gateway has its machines alone. */
  readonly sharing: PoolSharing | null;
}

/** A failed write is logged; its content goes out with the provider's next write. */
export async function write(
  changes: readonly StoreChange[],
  parts: RegistryContext,
): Promise<WriteResult> {
  const { store, log, sharing } = parts;
  const result = await store.write(changes);
  if (result.kind === 'unwritten') {
    log('warn', 'registry_unwritten', { error: result.message });
    sharing?.noteUnwritten(changes);
  }
  return result;
}

/**
 * What is unknown here may have come to the pool a moment ago, at another gateway: resolves once it would be known, or
 * with why nobody can tell.
 */
export async function lookInPool({ sharing }: RegistryContext): Promise<Refusal | null> {
  if (sharing === null) return null;
  await sharing.pool.refresh();
  const { database, problem } = sharing.pool.standing();
  if (database === 'connected') return null;
  return unwritten(problem ?? "The pool's database has not answered yet.");
}

/** The whole stored provider, as it is now, of which `part` has changed; nobody else writes the own machine. */
export function providerChange(
  { stored, isOwn }: Pick<TableEntry, 'stored' | 'isOwn'>,
  part: ProviderPart,
): StoreChange {
  return { kind: 'provider', provider: stored, ...(isOwn ? {} : { part }) };
}

/** A line of a provider's history. */
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

/** Failure reasons can be long; a history is for reading. */
const MAX_EVENT_CHARS = 500;

/** A history line where the status differs from the last one noted; else none. */
export function statusEvents(entry: TableEntry, { table, clock }: RegistryContext): StoreChange[] {
  const status = table.status(entry);
  if (status === null || status === entry.notedStatus) return [];
  entry.notedStatus = status;
  return [eventChange(entry, clock.now(), ['status', status])];
}
