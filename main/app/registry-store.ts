import { hash, createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { maskUrl } from '../config/setting-types.ts';
import { controlToken, storedSecret } from '../platform/secrets.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/client.ts';
import type { Log } from '../platform/log.ts';
import type { OpenedStore } from '../registry/store/store.ts';
import { openSqliteStore } from '../registry/store/tables.ts';

/** The tokens that agents recognise their gateway by are derived from it; all gateways of a pool have the same. */
export const gatewaySecret = ({ gateway }: Config, dataDirectory: string) =>
  gateway.poolSecret ?? storedSecret(join(dataDirectory, 'gateway-secret'));

/** Opens the store in this gateway's own database, or in the one that it shares with others. */
export async function openRegistryStore(
  config: Config,
  dataDirectory: string,
  edges: { readonly database: Database; readonly clock: Clock; readonly log: Log },
): Promise<OpenedStore> {
  const { databaseUrl: url } = config.gateway;
  if (url === null) return openSqliteStore(edges.database.part('registry'), edges.log);
  // Imported only here, because few gateways need it.
  const { openPostgresStore } = await import('../registry/store/postgres/postgres-store.ts');
  return openPostgresStore(
    {
      url,
      shown: maskUrl(url),
      home: `gw_${hash('sha256', `pool ${controlToken(dataDirectory)}`, 'hex').slice(0, 16)}`,
      secretDigest: createHmac('sha256', gatewaySecret(config, dataDirectory))
        .update('pool')
        .digest('hex'),
    },
    edges,
  );
}
