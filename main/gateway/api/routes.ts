import { z } from 'zod';
import { statusReportSchema } from '#shared/status.ts';
import { SETTING_SOURCES, type SettingKind, type SettingsView } from '#shared/settings.ts';
import type { RequestRow } from '#shared/live.ts';
import { FACETS, REQUEST_FILTERS, type RequestPage } from '#shared/request-filter.ts';
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
import { ENTRIES, type Entry } from '../../config/schema.ts';
import { keptRowSchema } from '../usage/kept-rows.ts';

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

/** A request that has ended, or one that runs. */
export const requestRowSchema: z.ZodType<RequestRow> = keptRowSchema
  .extend({ state: z.enum(['running', ...keptRowSchema.shape.state.options]) })
  .meta({ id: 'Request' });

export const requestPageSchema: z.ZodType<RequestPage> = z
  .strictObject({
    data: z.array(requestRowSchema),
    counts: z.record(z.enum(REQUEST_FILTERS), z.int().nonnegative()),
    facets: z.record(z.enum(FACETS), z.array(z.string())),
    machines: z.record(z.string(), z.string()),
  })
  .meta({ id: 'RequestPage' });

/* The settings as the API shows and takes them, from their table. */

const kinds = [...new Set(ENTRIES.map(({ setting }) => setting.kind.name))];

const settingViewSchema = z.strictObject({
  value: z.unknown(),
  source: z.enum(SETTING_SOURCES),
  env: z.string(),
  kind: z.enum(kinds as [SettingKind, ...SettingKind[]]),
  default: z.unknown(),
  allowed: z.string(),
  meaning: z.string(),
  choices: z.array(z.strictObject({ value: z.string(), meaning: z.string() })).exactOptional(),
  secret: z.literal(true).exactOptional(),
  restart: z.literal(true).exactOptional(),
});

export const settingsViewSchema: z.ZodType<SettingsView> = z
  .record(z.string(), z.record(z.string(), settingViewSchema))
  .meta({ id: 'Settings' });

const sections = Map.groupBy(ENTRIES, ({ section }) => section);

/** Any number of settings; null puts the default back. */
export const settingsChangeSchema = z
  .strictObject(Object.fromEntries([...sections].map(([name, its]) => [name, changeOf(its)])))
  .partial()
  .meta({ id: 'SettingsChange' });

function changeOf(section: readonly Entry[]) {
  const changes = section.map(({ key, setting }) => {
    return [key, setting.kind.schema.nullable().optional().describe(setting.meaning)] as const;
  });
  return z.strictObject(Object.fromEntries(changes));
}
