import { statusReportSchema } from '#shared/status.ts';
import {
  settingsChangeSchema,
  settingsViewSchema,
  requestPageSchema,
  requestRowSchema,
} from './schemas.ts';
import type { Access, Route, RouteSchemas } from '../../platform/http/routes.ts';
import { handleChat } from '../chat/handler.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { ENDPOINTS } from '../protocols/endpoints.ts';
import type {
  accessHandlers,
  controlHandlers,
  keyHandlers,
  sharingHandlers,
} from './control-handlers.ts';
import type { appHandlers, requestHandlers } from './app-handlers.ts';
import type { installHandlers } from './install-handlers.ts';
import type { upstreamHandlers } from './upstream-handlers.ts';

/** Endpoints that upstreams serve. They bypass Express, which would cost CPU time on each request. */
export const ENDPOINT_ROUTES = ENDPOINTS.map(endpointRoute);

function endpointRoute(endpoint: ApiEndpoint) {
  return { method: 'POST', endpoint, access: 'callers', handle: handleChat } as const;
}

interface Handlers {
  readonly access: ReturnType<typeof accessHandlers>;
  readonly app: ReturnType<typeof appHandlers>;
  readonly control: ReturnType<typeof controlHandlers>;
  readonly sharing: ReturnType<typeof sharingHandlers>;
  readonly upstreams: ReturnType<typeof upstreamHandlers>;
  readonly keys: ReturnType<typeof keyHandlers>;
  readonly requests: ReturnType<typeof requestHandlers>;
  readonly install: ReturnType<typeof installHandlers>;
  readonly openApi: Handle;
}

type Handle = Extract<Route, { readonly handle: unknown }>['handle'];

/** The routes that Express serves, before the window's files. */
export function routeTable({
  access,
  app,
  control,
  keys,
  sharing,
  upstreams,
  requests,
  install,
  openApi,
}: Handlers): readonly Route[] {
  return [
    route('GET', ['/api/v1/models', '/v1/models'], 'callers', app.models),
    route('GET', ['/api/v1/models/asked'], 'callers', app.askedModels),
    route('GET', ['/api/v1/models/*id', '/v1/models/*id'], 'callers', app.model),
    route('GET', ['/api/v1/status'], 'callers', app.status, { answer: statusReportSchema }),
    route('GET', ['/api/v1/history'], 'callers', app.history),
    route('GET', ['/api/v1/requests'], 'callers', requests.list, { answer: requestPageSchema }),
    route('GET', ['/api/v1/requests/:id'], 'callers', requests.get, { answer: requestRowSchema }),
    route('GET', ['/api/v1/events'], 'callers', app.events),
    route('GET', ['/api/v1/snapshot'], 'callers', app.snapshot),
    route('GET', ['/api/v1/openapi.json'], 'callers', openApi),
    route('GET', ['/metrics'], 'callers', app.metrics),
    route('GET', ['/healthz'], 'anyone', app.alive),
    route('GET', ['/readyz'], 'anyone', app.ready),
    route('GET', ['/api/v1/proof'], 'anyone', access.prove),
    route('POST', ['/api/v1/sessions'], 'anyone', app.redeemCode),
    route('POST', ['/api/v1/sessions/codes'], 'control', app.newLink),
    route('GET', ['/api/v1/browsers'], 'control', access.browsers),
    route('POST', ['/api/v1/browsers'], 'control', access.remember),
    route('DELETE', ['/api/v1/browsers/:id'], 'control', access.forget),
    route('GET', ['/api/v1/about'], 'control', access.about),
    route('GET', ['/api/v1/logs'], 'control', access.logs),
    route('GET', ['/api/v1/settings'], 'control', control.settings, { answer: settingsViewSchema }),
    route('PATCH', ['/api/v1/settings'], 'control', control.changeSettings, {
      body: settingsChangeSchema,
      answer: settingsViewSchema,
    }),
    route('GET', ['/api/v1/keys'], 'control', keys.list),
    route('POST', ['/api/v1/keys'], 'control', keys.add),
    route('PATCH', ['/api/v1/keys/:name'], 'control', keys.limit),
    route('DELETE', ['/api/v1/keys/:name'], 'control', keys.revoke),
    route('GET', ['/api/v1/sharing'], 'control', sharing.view),
    route('PUT', ['/api/v1/sharing'], 'control', sharing.change),
    route('POST', ['/api/v1/warmup'], 'control', control.warmUp),
    route('PUT', ['/api/v1/preference'], 'control', control.prefer),
    route('POST', ['/api/v1/circuits/:id/reset'], 'control', control.resetCircuit),
    route('POST', ['/api/v1/upstreams/:id/test'], 'control', upstreams.test),
    route('POST', ['/api/v1/upstreams/:id/swap'], 'control', control.swapUpstreams),
    route('POST', ['/api/v1/upstreams/:id/models'], 'control', upstreams.models),
    route('GET', ['/install'], 'anyone', install.unix),
    route('GET', ['/install.ps1'], 'anyone', install.windows),
    route('GET', ['/install/package.tgz'], 'anyone', install.tarball),
    route('GET', ['/api/v1/install'], 'control', install.lines),
  ];
}

function route(
  method: Route['method'],
  paths: Route['paths'],
  access: Access,
  handle: Handle,
  schemas: RouteSchemas = {},
): Route {
  return { method, paths, access, handle, schemas };
}
