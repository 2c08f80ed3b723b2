import type { Lease } from '../store/postgres/pool-client.ts';
import type { VerifierHost } from '../verifier-port.ts';

/**
 * Does `work` while no other gateway of the pool may do the same, and aborts it when the lease is lost; `elsewhere`
 * where another one is at it. Where there is no pool, it begins at once.
 */
export async function withLease<T>(
  host: Pick<VerifierHost, 'lease'>,
  { id, controller }: { readonly id: string; readonly controller: AbortController },
  work: (lease: Lease | undefined) => Promise<T>,
): Promise<T | 'elsewhere'> {
  if (host.lease === undefined) return work(undefined);
  const lease = await host.lease(id);
  if (lease === null) return 'elsewhere';
  lease.lost.addEventListener('abort', () => controller.abort());
  try {
    return lease.lost.aborted || controller.signal.aborted ? 'elsewhere' : await work(lease);
  } finally {
    lease.release();
  }
}
