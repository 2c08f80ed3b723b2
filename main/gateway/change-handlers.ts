import type { UpstreamId } from '#shared/ids.ts';
import type { Learnt } from './learnt.ts';
import { providerTraffic, type ProviderTraffic } from './monitoring/counters.ts';
import type { Monitor } from './monitoring/monitor.ts';
import type { Sightings } from './monitoring/sightings.ts';
import type { ModelCatalogue } from './upstream/model-catalogue.ts';

export interface ChangeHandlers {
  resetCircuit(id: UpstreamId): void;
  /** An upstream has a new address, key or model: what was learnt about the old one is discarded. */
  upstreamChanged(id: UpstreamId): void;
  traffic(providerId: string): ProviderTraffic;
  /** A provider has a new token, so its circuit and exclusions no longer apply. */
  providerChanged(id: string): void;
  /** A provider or its engine is available again: the next request may probe it at once. */
  providerRecovered(id: string): void;
  /** A provider was removed: everything known about it is discarded. */
  providerRemoved(id: string): void;
}

/** Reactions to changes of upstreams and machines. */
export function changeHandlers(
  { circuits, latencies, predictions, stats, warmup }: Monitor,
  {
    prefills,
    support,
    adjustments,
    catalogue,
    sightings,
  }: Pick<Learnt, 'prefills' | 'support' | 'adjustments'> & {
    readonly catalogue: ModelCatalogue;
    readonly sightings: Sightings;
  },
): ChangeHandlers {
  function forgetSupport(id: string): void {
    support.forget(id);
    adjustments.forget(id);
  }
  return {
    resetCircuit: (id) => circuits.reset(id),
    upstreamChanged(id) {
      circuits.replaced(id);
      predictions.forget(id);
      prefills.forget(id);
      forgetSupport(id);
      sightings.changed(id);
      catalogue.forget(id);
      if (id === 'ondemand') warmup.forget();
    },
    traffic: (id) => providerTraffic(id, { circuits, latencies, stats }),
    providerChanged(id) {
      circuits.reset(id);
      forgetSupport(id);
    },
    providerRecovered(id) {
      circuits.coolDown(id);
      // The pool's circuit opens when all of its machines are excluded.
      circuits.coolDown('local');
    },
    providerRemoved(id) {
      circuits.forget(id);
      latencies.forget(id);
      predictions.forget(id);
      forgetSupport(id);
    },
  };
}
