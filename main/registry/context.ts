import type { ProviderEvent } from '#shared/provider.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { ProviderTable, TableEntry } from './provider-table.ts';
import type { ProviderPart, Store, StoreChange, WriteResult } from './store/store.ts';
import type { VerifierPort } from './verifier-port.ts';

export interface RegistryContext {
  readonly table: ProviderTable;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly verifier: VerifierPort;
  /** The agents' tokens are derived from it; it is kept outside the database. */
  readonly gatewaySecret: string;
  readonly heartbeatMs: () => number;
}

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
  return { kind: 'provider', provider: stored, part: isOwn ? 'own' : part };
}

export function eventChange(
  { id }: TableEntry,
  at: number,
  [kind, text]: readonly [ProviderEvent['kind'], string],
): StoreChange {
  const event = { providerId: id, at, kind, text: text.slice(0, MAX_EVENT_CHARS) };
  return { kind: 'event', event };
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
