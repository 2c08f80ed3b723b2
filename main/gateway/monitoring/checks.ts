import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { createHealthChecks, type HealthChecks } from '../circuits/health-checks.ts';
import { createHealthCheck } from '../routing/health-check-routes.ts';
import { createWedgeWatch, type WedgeWatch } from '../routing/hung-engines.ts';
import type { LocalChoice } from '../upstream/call.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import type { Monitor } from './monitor.ts';
import { createSightings, type Sightings } from './sightings.ts';

interface ChecksDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly config: () => Config;
  readonly pickLocal: () => LocalChoice;
}

export interface Checks {
  readonly sightings: Sightings;
  readonly healthChecks: HealthChecks;
  readonly wedges: WedgeWatch;
  readonly stopChecks: () => void;
}

/** The checks of open circuits, those of silent engines, and those for the window. */
export function createChecks(
  deps: ChecksDeps,
  { circuits, stats, feed }: Pick<Monitor, 'circuits' | 'stats' | 'feed'>,
  remotes: () => readonly RemoteUpstream[],
): Checks {
  const { clock, config, pickLocal } = deps;
  const isOn = () => config().routing.healthChecks;
  const checkHealth = createHealthCheck({ ...deps, circuits, remotes });
  const sightings = createSightings({
    clock,
    isOn,
    checkHealth,
    healthAt: (id) => circuits.at(id).breaker.health,
    inFlightAt: (id) => stats.inFlightAt(id),
    isPool: () => pickLocal().kind === 'tier',
    onChange: () => feed.changed(),
  });
  const check = (id: string) => sightings.check(id);
  const healthChecks = createHealthChecks({ clock, circuits, isOn, check });
  return {
    sightings,
    healthChecks,
    wedges: createWedgeWatch({ clock, isOn, check: () => checkHealth('local') }),
    stopChecks() {
      healthChecks.stop();
      sightings.watched(false);
    },
  };
}
