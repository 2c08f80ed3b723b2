import type { Connection } from './connection.ts';
import {
  type GatewayFigures,
  type GatewayInPool,
  type GatewayStanding,
  NO_TOTALS,
  type PoolStanding,
  type PoolTotals,
} from './protocol.ts';

type Members = Pick<PoolStanding, 'gateways' | 'totals'>;

/** Says that this gateway is there and what it does, and hears of the others. */
export async function meet(
  connection: Connection,
  { id, run, host, version }: GatewayInPool,
  figures: GatewayFigures & { readonly revision: number },
): Promise<Members> {
  const { revision, machines, verified, in_flight, requests, answers, fallbacks, tokens } = figures;
  // A gateway that was killed counts on from what it saved last, which may be less than it told.
  await connection.query(
    `INSERT INTO switchyard.gateways AS g
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
  return { gateways: await readGateways(connection), totals: await readTotals(connection) };
}

/** A gateway that was not there for a day is left out. */
function readGateways(connection: Connection): Promise<readonly GatewayStanding[]> {
  return connection.query<GatewayStanding>(
    `SELECT g.id, g.host, g.version,
       to_char(g.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS started_at,
       floor(greatest(0, extract(epoch FROM clock_timestamp() - g.seen_at)) * 1000)::float8 AS seen_ms,
       greatest(0, p.revision - g.revision)::float8 AS behind, g.machines::float8 AS machines,
       g.verified::float8 AS verified, g.in_flight::float8 AS in_flight, g.requests::float8 AS requests,
       g.answers::float8 AS answers, g.fallbacks::float8 AS fallbacks, g.tokens::float8 AS tokens,
       (SELECT count(*) FROM switchyard.leases l WHERE l.holder = g.run AND l.until > clock_timestamp())::float8 AS leases
     FROM switchyard.gateways g, switchyard.pool p WHERE g.seen_at > clock_timestamp() - interval '1 day'
     ORDER BY g.host, g.id`,
  );
}

/** What a gateway that is gone has served was served. */
async function readTotals(connection: Connection): Promise<PoolTotals> {
  const [totals] = await connection.query<PoolTotals>(
    `SELECT coalesce(sum(requests), 0)::float8 AS requests, coalesce(sum(answers), 0)::float8 AS answers,
       coalesce(sum(fallbacks), 0)::float8 AS fallbacks, coalesce(sum(tokens), 0)::float8 AS tokens
     FROM switchyard.gateways`,
  );
  return totals ?? NO_TOTALS;
}
