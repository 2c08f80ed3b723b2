import type { Request } from 'express';
import {
  accessHandlers,
  controlHandlers,
  keyHandlers,
  sharingHandlers,
} from './api/control-handlers.ts';
import { appHandlers, requestHandlers } from './api/app-handlers.ts';
import { installHandlers } from './api/install-handlers.ts';
import type { Lifecycle } from './api/lifecycle.ts';
import { routeTable } from './api/routes.ts';
import { upstreamHandlers } from './api/upstream-handlers.ts';
import type { Route } from '../platform/http/routes.ts';
import type { Browsers, Sessions } from './auth/sessions.ts';
import type { Monitor } from './monitoring/monitor.ts';
import type { Sightings } from './monitoring/sightings.ts';
import type { Adjustments } from './upstream/adjustments.ts';
import type { ModelCatalogue } from './upstream/model-catalogue.ts';
import type { RemoteUpstream } from './upstream/upstreams.ts';
import type { GatewayDeps } from './gateway-deps.ts';

export interface RouteParts {
  readonly monitor: Monitor;
  readonly adjustments: Adjustments;
  readonly catalogue: ModelCatalogue;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly sightings: Sightings;
  readonly sessions: Sessions;
  readonly browsers: Browsers;
  readonly controlLink: () => string;
  readonly lifecycle: Lifecycle;
  readonly gatewayUrl: (req: Request) => string;
}

export function routesOf(deps: GatewayDeps, parts: RouteParts): readonly Route[] {
  const { monitor, lifecycle } = parts;
  const { summary, nameOf, isKnown: isProvider } = deps.providers;
  const table = routeTable({
    access: accessHandlers({ ...deps, ...parts }),
    app: appHandlers({
      ...deps,
      ...parts,
      ...monitor,
      summary,
      nameOf,
      endAtStop: lifecycle.endAtStop,
    }),
    control: controlHandlers({ ...deps, ...parts, ...monitor, isProvider }),
    keys: keyHandlers({ ...deps, keyLimits: monitor.keyLimits }),
    sharing: sharingHandlers({ ...deps, lifecycle }),
    upstreams: upstreamHandlers({ ...deps, ...parts }),
    requests: requestHandlers(monitor),
    install: installHandlers({
      ...deps,
      isShared: lifecycle.isShared,
      outsideUrl: parts.gatewayUrl,
    }),
  });
  return [...table, ...deps.moreRoutes];
}
