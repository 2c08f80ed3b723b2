import { isUpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config.ts';
import type { Circuits } from '../circuit/circuits.ts';
import type { RemoteUpstream } from '../request/upstreams.ts';
import type { WarmupRunner } from '../warmup/warmup.ts';
import type { ControlRoutesDeps } from './control-routes.ts';

/** What a control session may order of the running gateway. */
export type Orders = Pick<ControlRoutesDeps, 'startWarmup' | 'resetCircuit'>;

/** What the orders act on. */
export interface OrdersDeps {
  readonly config: () => Config;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly warmup: WarmupRunner;
  readonly circuits: Circuits;
  readonly isProvider: (id: string) => boolean;
}

/** Makes the orders; each says what came of it. */
export function ordersOf({ config, remotes, warmup, circuits, isProvider }: OrdersDeps): Orders {
  return {
    startWarmup() {
      const upstream = remotes().find(({ id }) => id === 'ondemand');
      if (upstream === undefined) return 'not_configured';
      if (config().routing.forceZero) return 'zero_spend';
      warmup.start(upstream);
      return warmup.view().state;
    },
    resetCircuit(id) {
      if (!isUpstreamId(id) && !isProvider(id)) return false;
      circuits.reset(id);
      return true;
    },
  };
}
