import type { Clock } from '../platform/clock.ts';
import type { Connection, Session } from './connection.ts';
import type { LeaseSubject, PoolTimes } from './protocol.ts';

export type Leases = ReturnType<typeof createLeases>;

interface HeldLease {
  readonly fence: number;
  /** In ticks. */
  readonly certainUntil: number;
}

export function createLeases(clock: Clock, holder: string, { leaseMs, marginMs }: PoolTimes) {
  const held = new Map<string, HeldLease>();

  async function end(
    connection: Connection,
    leases: readonly (readonly [string, HeldLease])[],
  ): Promise<void> {
    // The row is kept, because its fence must not restart. The fence is compared, because a statement may arrive late,
    // after this gateway has taken the lease again.
    await connection.query(
      `UPDATE inglenook.leases SET until = '-infinity'
       WHERE holder = $1 AND (name, fence) IN (SELECT * FROM unnest($2::text[], $3::bigint[]))`,
      [holder, leases.map(([name]) => name), leases.map(([, { fence }]) => fence)],
    );
  }

  return {
    /** The fence of the lease, higher than any before; null while another gateway holds it. */
    async take(
      connection: Connection,
      name: string,
      subject: LeaseSubject | null,
    ): Promise<number | null> {
      const askedTicks = clock.ticks();
      const [row] = await connection.query<{ readonly fence: number }>(
        `INSERT INTO inglenook.leases AS l (name, holder, fence, until)
         SELECT $1, $2, 1, clock_timestamp() + $3 * interval '1 ms'
         WHERE coalesce((SELECT fence FROM inglenook.providers WHERE id = $4), 0) <= $5
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = l.fence + 1, until = excluded.until
         WHERE l.until < clock_timestamp() OR l.holder = excluded.holder
         RETURNING fence::float8 AS fence`,
        [name, holder, leaseMs, subject?.id ?? null, subject?.fence ?? 0],
      );
      if (row === undefined) return null;
      held.set(name, { fence: row.fence, certainUntil: askedTicks + leaseMs - marginMs });
      return row.fence;
    },
    async renew(connection: Connection): Promise<void> {
      if (held.size === 0) return;
      const askedTicks = clock.ticks();
      const renewed = await connection.query<{ readonly name: string; readonly fence: number }>(
        `UPDATE inglenook.leases SET until = clock_timestamp() + $3 * interval '1 ms'
         WHERE name = ANY($1) AND holder = $2 AND until > clock_timestamp()
         RETURNING name, fence::float8 AS fence`,
        [[...held.keys()], holder, leaseMs],
      );
      for (const { name, fence } of renewed)
        if (held.get(name)?.fence === fence)
          held.set(name, { fence, certainUntil: askedTicks + leaseMs - marginMs });
    },
    async release(connection: Connection | null, name: string): Promise<void> {
      const lease = held.get(name);
      held.delete(name);
      if (lease !== undefined && connection !== null) await end(connection, [[name, lease]]);
    },
    async releaseAll(connection: Connection): Promise<void> {
      const all = [...held];
      held.clear();
      if (all.length > 0) await end(connection, all);
    },
    expired(): readonly string[] {
      const over = [...held].filter(([, { certainUntil }]) => certainUntil <= clock.ticks());
      for (const [name] of over) held.delete(name);
      return over.map(([name]) => name);
    },
  };
}

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
