import type { Clock } from '../../../platform/clock.ts';
import type { Connection } from './connection.ts';
import type { PoolTimes } from './times.ts';

/** The rights of this gateway to do what only one may do at a time. */
export interface Leases {
  /** The number of the lease, higher than of any before; null while another gateway holds it. */
  take(
    connection: Connection,
    name: string,
    subject: { readonly id: string; readonly fence: number } | null,
  ): Promise<number | null>;
  renew(connection: Connection): Promise<void>;
  release(connection: Connection | null, name: string): Promise<void>;
  releaseAll(connection: Connection): Promise<void>;
  /** Those that could not be renewed in time; they are held no longer. */
  expired(): readonly string[];
}

export function createLeases(
  clock: Clock,
  holder: string,
  { leaseMs, marginMs }: PoolTimes,
): Leases {
  /** By name: until when it is certain. */
  const held = new Map<string, number>();

  async function end(connection: Connection, names: readonly string[]): Promise<void> {
    // The row stays, because its fence must not begin anew.
    await connection.query(
      `UPDATE switchyard.leases SET until = '-infinity' WHERE name = ANY($1) AND holder = $2`,
      [names, holder],
    );
  }

  return {
    async take(connection, name, subject) {
      const askedTicks = clock.ticks();
      const [row] = await connection.query<{ readonly fence: number }>(
        `INSERT INTO switchyard.leases AS l (name, holder, fence, until)
         SELECT $1, $2, 1, clock_timestamp() + $3 * interval '1 ms'
         WHERE coalesce((SELECT fence FROM switchyard.providers WHERE id = $4), 0) <= $5
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = l.fence + 1, until = excluded.until
         WHERE l.until < clock_timestamp() OR l.holder = excluded.holder
         RETURNING fence::float8 AS fence`,
        [name, holder, leaseMs, subject?.id ?? null, subject?.fence ?? 0],
      );
      if (row === undefined) return null;
      held.set(name, askedTicks + leaseMs - marginMs);
      return row.fence;
    },
    async renew(connection) {
      if (held.size === 0) return;
      const askedTicks = clock.ticks();
      const renewed = await connection.query<{ readonly name: string }>(
        `UPDATE switchyard.leases SET until = clock_timestamp() + $3 * interval '1 ms'
         WHERE name = ANY($1) AND holder = $2 AND until > clock_timestamp() RETURNING name`,
        [[...held.keys()], holder, leaseMs],
      );
      for (const { name } of renewed)
        if (held.has(name)) held.set(name, askedTicks + leaseMs - marginMs);
    },
    async release(connection, name) {
      if (held.delete(name) && connection !== null) await end(connection, [name]);
    },
    async releaseAll(connection) {
      const names = [...held.keys()];
      held.clear();
      if (names.length > 0) await end(connection, names);
    },
    expired() {
      const names = [...held].filter(([, until]) => until <= clock.ticks()).map(([name]) => name);
      for (const name of names) held.delete(name);
      return names;
    },
  };
}
