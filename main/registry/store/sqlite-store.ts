import type { DatabasePart } from '../../platform/database/client.ts';
import type { Log } from '../../platform/log.ts';
import { type OpenedStore, refusingStore } from './store.ts';
import type { RegistryOperations } from './tables.ts';

/** The store in this gateway's own database. */
export async function openSqliteStore(
  part: DatabasePart<RegistryOperations>,
  log: Log,
): Promise<OpenedStore> {
  const loaded = await part.read('load');
  if (loaded === null) return refusingStore(part.problem() ?? UNREAD);
  const { state, unread } = loaded;
  if (unread > 0) log('warn', 'store_rows_left_out', { rows: unread });
  return {
    state,
    store: {
      write: (changes) => part.write('apply', changes),
      events: async (providerId, limit) => (await part.read('events', providerId, limit)) ?? [],
      close: () => Promise.resolve(),
    },
    notice: null,
  };
}

const UNREAD = 'The list of machines cannot be read: restart Inglenook.';
