import { type GatewayFigures, type GatewayInPool, NO_TOTALS, type PoolStatus } from './protocol.ts';
import type { Connection } from './connection.ts';

type Members = Pick<PoolStatus, 'gateways' | 'totals'>;

/** Reports this gateway and its figures, and reads those of the others. */
export async function syncMembers(
  connection: Connection,
  { id, run, host, version }: GatewayInPool,
  figures: GatewayFigures & { readonly revision: number },
): Promise<Members> {
  const { revision, machines, verified, in_flight, requests, answers, fallbacks, tokens } = figures;
  // A gateway that was killed continues from the counts that it saved last, which may be lower than those it reported.
  await connection.query(
    `INSERT INTO inglenook.gateways AS g
       (id, run, host, version, revision, machines, verified, in_flight, requests, answers, fallbacks, tokens)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     ON CONFLICT (id) DO UPDATE SET run = excluded.run, host = excluded.host, version = excluded.version,
       revision = excluded.revision, machines = excluded.machines, verified = excluded.verified,
       in_flight = excluded.in_flight, requests = greatest(g.requests, excluded.requests),
       answers = greatest(g.answers, excluded.answers), fallbacks = greatest(g.fallbacks, excluded.fallbacks),
       tokens = greatest(g.tokens, excluded.tokens), seen_at = clock_timestamp(),
       started_at = CASE WHEN g.run = excluded.run THEN g.started_at ELSE clock_timestamp() END`,
    [
      id,
      run,
      host,
      version,
      revision,
      machines,
      verified,
      in_flight,
      requests,
      answers,
      fallbacks,
      tokens,
    ],
  );
  return readMembers(connection);
}

/**
 * One statement sees one moment, so that the gateways add up to the totals. A gateway not seen for a day is left out,
 * but still counts in the totals.
 */
async function readMembers(connection: Connection): Promise<Members> {
  const [members] = await connection.query<Members>(
    `SELECT
       (SELECT coalesce(json_agg(m ORDER BY m.host, m.id), '[]') FROM (
         SELECT g.id, g.host, g.version,
           to_char(g.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS started_at,
           floor(greatest(0, extract(epoch FROM clock_timestamp() - g.seen_at)) * 1000) AS seen_ms,
           greatest(0, p.revision - g.revision) AS behind, g.machines, g.verified, g.in_flight, g.requests, g.answers,
           g.fallbacks, g.tokens,
           (SELECT count(*) FROM inglenook.leases l WHERE l.holder = g.run AND l.until > clock_timestamp()) AS leases
         FROM inglenook.gateways g, inglenook.pool p WHERE g.seen_at > clock_timestamp() - interval '1 day'
       ) m) AS gateways,
       (SELECT row_to_json(t) FROM (
         SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(answers), 0) AS answers,
           coalesce(sum(fallbacks), 0) AS fallbacks, coalesce(sum(tokens), 0) AS tokens
         FROM inglenook.gateways
       ) t) AS totals`,
  );
  return members ?? { gateways: [], totals: NO_TOTALS };
}
