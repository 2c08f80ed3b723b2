import { accessHandlers } from './api/access-handlers.ts';
import { agentHandlers } from './api/agent-handlers.ts';
import { appHandlers } from './api/app-handlers.ts';
import { controlHandlers } from './api/control-handlers.ts';
import { installHandlers } from './api/install-handlers.ts';
import type { Lifecycle } from './api/lifecycle.ts';
import { keyHandlers } from './api/key-handlers.ts';
import { providerHandlers } from './api/provider-handlers.ts';
import { type Route, routeTable } from './api/routes.ts';
import { upstreamHandlers } from './api/upstream-handlers.ts';
import type { Browsers } from './auth/browsers.ts';
import type { Sessions } from './auth/sessions.ts';
import type { Monitor } from './monitoring/monitor.ts';
import type { Sightings } from './monitoring/sightings.ts';
import type { ModelCatalogue } from './upstream/model-catalogue.ts';
import type { RemoteUpstream } from './upstream/upstreams.ts';
import type { GatewayDeps } from './gateway-deps.ts';

export interface RouteParts {
  readonly monitor: Monitor;
  readonly catalogue: ModelCatalogue;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly sightings: Sightings;
  readonly sessions: Sessions;
  readonly browsers: Browsers;
  readonly controlLink: () => string;
  /** A function, because the lifecycle is created with the server, which needs the routes. */
  readonly lifecycle: () => Lifecycle;
}

export function routesOf(
  deps: GatewayDeps,
  {
    monitor,
    catalogue,
    remotes,
    sightings,
    sessions,
    browsers,
    controlLink,
    lifecycle,
  }: RouteParts,
): readonly Route[] {
  const { warmup, circuits } = monitor;
  const { settings, clock } = deps;
  const { summary, isKnown: isProvider } = deps.providers;
  const endAtStop: Lifecycle['endAtStop'] = (stream) => lifecycle().endAtStop(stream);
  const joinUrl = () => lifecycle().outsideUrl();
  const app = {
    ...monitor,
    summary,
    sessions,
    controlLink,
    endAtStop,
    remotes,
    catalogue,
  };
  const table = routeTable({
    access: accessHandlers({ ...deps, browsers }),
    app: appHandlers({ ...deps, ...app }),
    control: controlHandlers({ ...deps, settings, remotes, warmup, circuits, isProvider }),
    keys: keyHandlers(deps),
    upstreams: upstreamHandlers({ ...deps, remotes, sightings }),
    agent: agentHandlers(deps.agent),
    providers: providerHandlers({ providers: deps.providers.api, joinUrl, clock }),
    install: installHandlers({
      ownPackage: deps.ownPackage,
      isShared: () => lifecycle().isShared(),
      outsideUrl: joinUrl,
    }),
  });
  return [...table, ...deps.moreRoutes];
}
