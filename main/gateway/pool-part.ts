import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { PoolPort } from '#shared/pool-update.ts';
import { perConfig } from '../config/live-config.ts';
import type { Config } from '../config/schema.ts';
import { isLoopbackHost } from '../platform/http/server.ts';
import type { Circuits } from './circuits/circuits.ts';
import { createSharedCircuits, type SharedCircuits } from './circuits/shared-circuits.ts';
import type { GatewayDeps } from './gateway-deps.ts';
import type { Stats } from './monitoring/counters.ts';
import { identityOf } from './monitoring/saved-state.ts';
import { createPoolExchange, type PoolExchange } from './pool-exchange.ts';

/** What this gateway shares with the others of its pool: what circuits learn, and where requests run. */
export interface PoolPart {
  share(own: Circuits): Circuits;
  /** Running requests at a machine, from all gateways together. */
  inFlightBeside(stats: Pick<Stats, 'inFlightAt'>): (id: string) => number;
  start(stats: Pick<Stats, 'running'>): void;
  stop(): void;
}

interface PartDeps extends Pick<GatewayDeps, 'clock' | 'random' | 'config'> {
  readonly providers: Pick<GatewayDeps['providers'], 'isKnown'>;
}

/** Without other gateways nothing is shared, which costs no time. */
const ALONE: PoolPart = {
  share: (own) => own,
  inFlightBeside: (stats) => (id) => stats.inFlightAt(id),
  start() {},
  stop() {},
};

export function createPoolPart(port: PoolPort | null, deps: PartDeps): PoolPart {
  if (port === null) return ALONE;
  const { clock, random, config, providers } = deps;
  const namesIn = perConfig((now) => upstreamNames(now, port));
  const nameOf = (id: string) => namesIn(config()).get(id) ?? id;
  const isUpstream = (id: string) => UPSTREAM_IDS.some((each) => each === id);
  let shared: SharedCircuits | null = null;
  let exchange: PoolExchange | null = null;

  return {
    share(own) {
      shared = createSharedCircuits(own, {
        clock,
        random,
        isAlone: () => port.isAway(),
        nameOf,
        isKnown: (id) => isUpstream(id) || providers.isKnown(id),
        changed: () => exchange?.changed(),
      });
      return shared.circuits;
    },
    inFlightBeside: (stats) => (id) =>
      stats.inFlightAt(id) + (exchange?.inFlightElsewhere(id) ?? 0),
    start(stats) {
      if (shared === null) return;
      exchange = createPoolExchange({ port, clock, stats, circuits: shared });
      exchange.start();
    },
    stop: () => exchange?.stop(),
  };
}

/** Gateways share what they know about an upstream if its address and key are the same at both. */
function upstreamNames(config: Config, port: PoolPort): ReadonlyMap<string, string> {
  const ownerOf = (id: UpstreamId) => {
    const { baseUrl } = config[id];
    const isOwn = baseUrl !== null && isLoopbackHost(new URL(baseUrl).hostname);
    return isOwn ? port.gateway : '';
  };
  return new Map(
    UPSTREAM_IDS.map((id) => [id, `${id} ${port.digest(identityOf(config, id) + ownerOf(id))}`]),
  );
}
