import type { DataLock } from '../platform/data-lock.ts';
import type { Host } from './app.ts';

/** A host that holds the lock of its data directory until it has stopped, and records its address there. */
export function ownedHost(host: Host, lock: DataLock): Host {
  return {
    ...host,
    async start() {
      try {
        const addresses = await host.start();
        lock.listensAt(addresses.url);
        return addresses;
      } catch (error) {
        lock.release();
        throw error;
      }
    },
    async stop(graceMs) {
      await host.stop(graceMs);
      lock.release();
    },
  };
}
