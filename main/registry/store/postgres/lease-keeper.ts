import type { Clock } from '../../../platform/clock.ts';
import type { Leases } from './leases.ts';
import type { Session } from './session.ts';

/** A lease lasts five times as long. */
const RENEW_MS = 2000;
/** How soon a lease that could not be renewed is detected. */
const WATCH_MS = 250;

interface KeeperEdges {
  readonly clock: Clock;
  readonly session: () => Session | null;
  readonly onFailure: (error: unknown) => void;
  readonly onLost: (name: string) => void;
}

/** Renews this gateway's leases independently of reading, which may cover all machines and take long. */
export function keepLeases(
  leases: Leases,
  { clock, session, onFailure, onLost }: KeeperEdges,
): { begin(now: Session): void; stop(): void } {
  let cancelRenewal = () => {};

  async function renew(now: Session): Promise<void> {
    if (session() !== now) return;
    await leases.renew(now.reader);
    cancelRenewal = clock.after(RENEW_MS, () => void renew(now).catch(onFailure));
  }

  function watch(): void {
    for (const name of leases.expired()) onLost(name);
    cancelWatch = clock.after(WATCH_MS, watch);
  }
  let cancelWatch = clock.after(WATCH_MS, watch);

  return {
    begin: (now) => void renew(now).catch(onFailure),
    stop() {
      cancelRenewal();
      cancelWatch();
    },
  };
}
