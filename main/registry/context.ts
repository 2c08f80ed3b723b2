import type { ProviderEvent } from '#shared/provider.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { ProviderTable, TableEntry } from './provider-table.ts';
import type { Refusal } from '../platform/http/routes.ts';
import { type PoolAnnouncement, unwritten } from './responses.ts';
import type { PoolSharing } from './pool/sharing.ts';
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
  /** The name of the pool that this gateway is in, or could be in; agents sign for it once it has been announced. */
  readonly poolId: string;
  /** Part of the answers to agents; empty if this gateway is not in a pool. */
  readonly announced: () => { readonly pool?: PoolAnnouncement };
  /** Null if this gateway is not in a pool. */
  readonly sharing: PoolSharing | null;
}

/** A failed write is logged; its content is written with the provider's next change. */
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
 * What is unknown here may just have been written by another gateway of the pool: resolves once this gateway has read
 * it, or with a refusal if the database does not answer.
 */
export async function refreshFromPool({ sharing }: RegistryContext): Promise<Refusal | null> {
  if (sharing === null) return null;
  await sharing.pool.refresh();
  const { database, problem } = sharing.pool.status();
  if (database === 'connected') return null;
  return unwritten(problem ?? "The pool's database has not answered yet.");
}

/** The whole stored provider, of which `part` has changed; no other gateway writes the own machine. */
export function providerChange(
  { stored, isOwn }: Pick<TableEntry, 'stored' | 'isOwn'>,
  part: ProviderPart,
): StoreChange {
  return { kind: 'provider', provider: stored, ...(isOwn ? {} : { part }) };
}

/** One event of a provider's history. */
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
