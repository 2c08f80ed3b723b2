import { hash, createHmac } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { AttachDeps, AttachedPool } from '../pool/pool.ts';
import type { Config } from '../config/schema.ts';
import { maskUrl } from '../config/setting-types.ts';
import { controlToken, newSecret, storedSecret } from '../platform/secrets.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { OpenedStore, openStore } from '../registry/store/open-store.ts';
import { VERSION } from '../platform/process.ts';

/** The tokens that agents recognise their gateway by are derived from it; all gateways of a pool have the same. */
export const gatewaySecret = ({ gateway }: Config, dataDirectory: string) =>
  gateway.poolSecret ?? storedSecret(join(dataDirectory, 'gateway-secret'));

/** `attach`: left out if this gateway is not in a pool. */
export interface OpenedRegistryStore {
  readonly opened: OpenedStore;
  readonly attach?: (deps: AttachDeps) => AttachedPool;
}

/** Opens this gateway's own file, or the database of its pool. */
export async function openRegistryStore(
  config: Config,
  dataDirectory: string,
  edges: { readonly openStore: typeof openStore; readonly clock: Clock; readonly log: Log },
): Promise<OpenedRegistryStore> {
  const { databaseUrl: url, port } = config.gateway;
  const { clock, log } = edges;
  if (url === null)
    return { opened: await edges.openStore(join(dataDirectory, 'registry.db'), { clock, log }) };
  // Imported only here, because a gateway with its own file does not need it.
  const { attachPool, openPool } = await import('../pool/pool.ts');
  const id = `gw_${hash('sha256', `pool ${controlToken(dataDirectory)}`, 'hex').slice(0, 16)}`;
  const opened = await openPool(
    {
      url,
      shown: maskUrl(url),
      gateway: {
        id,
        run: `${id}.${newSecret().slice(0, 8)}`,
        host: `${hostname()}:${port}`,
        version: VERSION,
      },
      secretDigest: createHmac('sha256', gatewaySecret(config, dataDirectory))
        .update('pool')
        .digest('hex'),
    },
    log,
  );
  return opened.kind === 'open'
    ? { opened, attach: (deps) => attachPool(opened, deps) }
    : { opened };
}
