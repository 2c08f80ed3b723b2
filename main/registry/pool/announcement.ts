import { createHmac } from 'node:crypto';
import type { RegistryContext } from '../context.ts';

interface AnnouncementDeps {
  readonly gatewaySecret: string;
  readonly pool?: unknown;
  readonly poolAddresses?: () => readonly string[];
}

/**
 * Gateways of a pool have the same secret, and therefore the same name for it even while the database does not answer.
 */
export function announcementOf({
  gatewaySecret,
  pool,
  poolAddresses,
}: AnnouncementDeps): Pick<RegistryContext, 'poolId' | 'announced'> {
  const digest = createHmac('sha256', gatewaySecret).update('name of the pool').digest('hex');
  const id = `pool_${digest.slice(0, 32)}`;
  return {
    poolId: id,
    announced: () =>
      pool === undefined ? {} : { pool: { id, registries: poolAddresses?.() ?? [] } },
  };
}

/** The addresses in a join line: all that are announced, this gateway's first; otherwise this gateway's only. */
export function addressesFor(
  own: string,
  { pool }: ReturnType<RegistryContext['announced']>,
): readonly string[] {
  const announced = pool?.registries ?? [];
  if (announced.length === 0) return [own];
  return announced.toSorted((a, b) => Number(b === own) - Number(a === own));
}
