import type { ProviderEnergy, ProviderTraffic } from '#shared/provider.ts';
import type { LiveSnapshot } from '#shared/live.ts';
import type { Route } from '../platform/http/routes.ts';
import { accessRoutes, controlRoutes, keyRoutes, sharingRoutes } from './api/control-routes.ts';
import { installRoutes, askedUrl, isAskedOnLoopback } from './api/install-routes.ts';
import {
  createLifecycle,
  type Lifecycle,
  type OnPortTaken,
  type StartResult,
} from './api/lifecycle.ts';
import { joulesPerTokenIn } from './usage/recorder.ts';
import type { RequestListener } from 'node:http';
import type { Request } from 'express';
import { perConfig } from '../config/live-config.ts';
import { createBodyBudget } from '../platform/http/bodies.ts';
import { newRequestId } from '../platform/secrets.ts';
import { createExpressListener } from './api/express.ts';
import type { RouteDeps } from './api/routes.ts';
import { createGatewayServer } from './api/server.ts';
import { logRefusedOrigins } from './auth/origin-guard.ts';
import { createIdentify } from './auth/identity.ts';
import { createBrowsers, createSessions } from './auth/sessions.ts';
import { createAdmission } from './chat/admission.ts';
import { logDroppedFields } from './chat/respond.ts';
import type { ChatDeps } from './chat/handler.ts';
import { providerTraffic } from './monitoring/counters.ts';
import {
  createChecks,
  createMonitor,
  type Monitor,
  type MonitorDeps,
} from './monitoring/monitor.ts';
import type { Checker } from './routing/checker.ts';
import { preferringCopies } from './routing/larger-windows.ts';
import { createHedgeBudget } from './routing/hedge.ts';
import { createModelCatalogue } from './upstream/model-catalogue.ts';
import { listedName, remoteUpstreams } from './upstream/upstreams.ts';
import { appRoutes } from './api/app-routes.ts';
import { upstreamRoutes } from './api/upstream-routes.ts';
import { windowRoutes } from './api/window-routes.ts';
import type { UpstreamId } from '#shared/ids.ts';
import { createMemory, type Memory } from './memory/memory.ts';
import { cutWindowsIn } from './routing/windows.ts';
import { createItemMemory } from './protocols/responses/history.ts';

type ForRoutes =
  | 'about'
  | 'app'
  | 'controlToken'
  | 'enginesChanged'
  | 'gpus'
  | 'identifyLocal'
  | 'isDemo'
  | 'keys'
  | 'ownPackage'
  | 'settings';

type ForMonitor =
  'config' | 'http' | 'clock' | 'random' | 'log' | 'pickLocal' | 'engineAt' | 'keep' | 'usage';

export interface GatewayDeps
  extends Pick<RouteDeps, ForRoutes>, Pick<MonitorDeps, ForMonitor>, Pick<ChatDeps, 'localUsed'> {
  readonly providers: GatewayProviders;
  /** As `keep`, for the sessions and the remembered browsers. */
  readonly keepSessions: MonitorDeps['keep'];
  readonly keepBrowsers: MonitorDeps['keep'];
  readonly windowDirectory: string;
  readonly onPortTaken: OnPortTaken;
  /** Of the agent, the registry and the demo. */
  readonly moreRoutes: readonly Route[];
}

export interface GatewayProviders extends Pick<
  MonitorDeps,
  'summary' | 'absence' | 'nameOf' | 'routed' | 'proof'
> {
  /** For the status report. */
  readonly known: MonitorDeps['providers'];
  readonly isKnown: (id: string) => boolean;
  /** What the answers of a machine take in electricity; null while unknown. */
  readonly energyOf: (id: string) => ProviderEnergy | null;
}

export type Gateway = ReturnType<typeof createGateway>;

/** Copies of a body in memory: as received, and as rewritten for an upstream. */
const BODY_COPIES = 2;

const ROUTES = [
  appRoutes,
  accessRoutes,
  controlRoutes,
  keyRoutes,
  sharingRoutes,
  upstreamRoutes,
  windowRoutes,
  installRoutes,
];

/** Nothing listens before `start`. */
export function createGateway(deps: GatewayDeps) {
  const { config, http, clock, log, providers } = deps;
  const pickLocal = () => preferringCopies(deps.pickLocal(), config().routing.modelAliases);
  const remotesIn = perConfig(remoteUpstreams);
  const remotes = () => remotesIn(config());
  const onBug = (error: unknown) => log('error', 'bug', { error: stackOf(error) });
  const { onPortTaken } = deps;
  const makeServer = () => createGatewayServer(serverDeps);
  const lifecycle = createLifecycle(makeServer, { clock, log, onPortTaken });
  const memory = createMemory(clock);

  const monitor = createMonitor({
    ...deps,
    ...providers,
    memory,
    pickLocal,
    providers: providers.known,
    joulesPerToken: (id, model) => joulesPerTokenIn(providers.energyOf(id), model),
    app: () => ({ ...deps.app(), baseUrl: lifecycle.baseUrl() }),
    opened: (id, how) => checker.opened(id, how),
    admission: () => admission.view(),
    watched: (isWatched) => checker.watched(isWatched),
  });
  const { logs, counters, warmup, feed } = monitor;
  const admission = createAdmission(() => config().gateway.maxConcurrentRequests);
  const catalogue = createModelCatalogue({ memory, http, clock, config });
  const checksDeps = { memory, http, clock, config, pickLocal };
  const { checker, hung } = createChecks(checksDeps, monitor, remotes);
  const { sessions, browsers, identify } = accessOf(deps, lifecycle);
  const controlLink = () => `${lifecycle.url()}/#code=${sessions.newCode()}`;
  // A name by which the window reached this gateway, such as a proxy's, works for other machines, too.
  const gatewayUrl = ({ headers }: Request) =>
    isAskedOnLoopback(headers) ? lifecycle.outsideUrl() : askedUrl(headers);
  const access = { sessions, browsers, identify, controlLink };
  const upstreams = { memory, pickLocal, remotes, catalogue, checker };
  const parts: RouteDeps = {
    ...deps,
    ...providers,
    ...monitor,
    ...access,
    ...upstreams,
    lifecycle,
  };
  const routes = [...ROUTES.flatMap((routesOf) => routesOf(parts)), ...deps.moreRoutes];
  // Created with the first request that needs it: this takes 5 ms, and chat requests do not need it.
  let express: RequestListener | null = null;
  const otherwise: RequestListener = (req, res) =>
    (express ??= createExpressListener(routes, {
      identify,
      windowDirectory: deps.windowDirectory,
      clock,
      gatewayUrl,
      onBug,
    }))(req, res);
  const chat: ChatDeps = {
    ...deps,
    ...monitor,
    pickLocal,
    remotesIn,
    memory,
    hung,
    budget: createHedgeBudget(),
    admission,
    bodies: createBodyBudget(BODY_COPIES),
    items: createItemMemory(MAX_ITEM_BYTES),
    catalogue,
    noteDropped: logDroppedFields(log),
    observe: (asked) => logs.begin(asked),
    inFlightAt: counters.inFlightAt,
    isRunning: counters.isRunning,
  };
  const serverDeps = {
    config,
    id: newRequestId(),
    refusedOrigin: logRefusedOrigins(log),
    identify,
    chat,
    otherwise,
    isStopping: lifecycle.isStopping,
    onBug,
  };

  return {
    feed,
    /** Fetches the models of the hosted upstreams now instead of when the list is first read. */
    askForModels: () => remotes().forEach((each) => catalogue.listedBy(each)),
    resumed: () => checker.checkNow(),
    /** Something has changed at an upstream: it is checked now instead of in its turn. */
    checkNow: (id: UpstreamId) => checker.checkNow(id),
    snapshot: (): LiveSnapshot => feed.snapshot(),
    /** Models whose engine was caught cutting prompts. */
    cuts: () => memory.ids('window').flatMap((id) => cutWindowsIn(memory.of(id))),
    url: lifecycle.url,
    baseUrl: lifecycle.baseUrl,
    ports: (): readonly number[] =>
      lifecycle.url() === '' ? [] : [Number(new URL(lifecycle.url()).port)],
    /** The window's address with a new one-time code for a control session. */
    controlLink,
    ...changeHandlers(monitor, memory, checker),
    start(): Promise<StartResult> {
      checker.start();
      return lifecycle.start(config());
    },
    /** Running requests may finish within `graceMs`, then they are aborted. */
    async stop(graceMs: number) {
      warmup.stop();
      checker.stop();
      await lifecycle.stop(graceMs);
      await Promise.all([monitor.flush(), deps.keys.flush()]);
    },
  };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : 'unknown';
}

/** Who has control: the holder of the token, sessions and remembered browsers. */
function accessOf(deps: GatewayDeps, { isShared }: Lifecycle) {
  const { clock, config, controlToken, keys } = deps;
  const sessions = createSessions(clock, deps.keepSessions, { reusesCodes: deps.isDemo });
  const browsers = createBrowsers(clock, deps.keepBrowsers);
  const isSession = (token: string) => sessions.isSession(token) || browsers.isRemembered(token);
  const identify = createIdentify({ config, controlToken, keys, isShared }, isSession);
  return { sessions, browsers, identify };
}

function changeHandlers(
  { circuits, counters, warmup, unsaved }: Monitor,
  memory: Memory,
  checker: Checker,
) {
  function replaced(id: string): void {
    circuits.reset(id);
    memory.forget(id);
  }

  return {
    resetCircuit: (id: UpstreamId) => circuits.reset(id),
    /** An upstream has a new address, key or model: what was learnt about the old one is discarded. */
    upstreamChanged(id: UpstreamId) {
      replaced(id);
      checker.changed(id);
      if (id === 'ondemand') warmup.forget();
    },
    /** What was skipped for its slowness may not be slow any more: the next request finds out. */
    waitsLonger() {
      for (const id of memory.ids('circuit'))
        if (circuits.at(id).breaker.health.consecutiveSlow > 0) circuits.coolDown(id);
    },
    traffic: (id: string): ProviderTraffic =>
      providerTraffic(memory.of(id), counters.inFlightAt(id)),
    /** A provider has a new token, so its circuit and exclusions no longer apply. */
    providerChanged: (id: string) => replaced(id),
    /** A provider or its engine is available again: the next request may probe it at once. */
    providerRecovered: (id: string) => checker.recovered(id),
    /** A provider's engine has lost the prompts in its cache, but those of the models that are still loaded. */
    providerEmptied(id: string, loaded: readonly string[]) {
      memory.emptied(id, (model) => listedName(loaded, model) !== null);
    },
    /** A provider has answered the completion of its verification. */
    providerProved: (id: string) => checker.passed(id),
    /** A provider was removed: everything known about it is discarded. */
    providerRemoved(id: string) {
      checker.removed(id);
      memory.drop(id);
      unsaved();
    },
  };
}

/** For items of answers that callers may refer to; enough for thousands of answers. */
const MAX_ITEM_BYTES = 16 * 1024 * 1024;
