import type { GpuFigures } from '#shared/agent.ts';
import type { ProviderTraffic } from '#shared/provider.ts';
import type { AppInfo } from '#shared/live.ts';
import type { Route } from '../platform/http/routes.ts';
import {
  type AboutApp,
  accessRoutes,
  controlRoutes,
  keyRoutes,
  type SettingsApi,
  sharingRoutes,
} from './api/control-routes.ts';
import {
  installRoutes,
  type OwnPackage,
  askedUrl,
  isAskedOnLoopback,
} from './api/install-routes.ts';
import { type NamedKeys, createIdentify } from './auth/keys.ts';
import type { RequestListener } from 'node:http';
import type { Request } from 'express';
import { createBodyBudget } from '../platform/http/bodies.ts';
import { createExpressListener } from './api/express.ts';
import {
  createGatewayServer,
  createLifecycle,
  type Lifecycle,
  type OnPortTaken,
} from './api/server.ts';
import { logRefusedOrigins } from './auth/origin-guard.ts';
import { createBrowsers, createSessions } from './auth/sessions.ts';
import { roundedMean } from './circuits/breaker.ts';
import { wasUp } from './circuits/seen.ts';
import { logDroppedFields } from './chat/send-answer.ts';
import { type ChatDeps, createAdmission } from './chat/handler.ts';
import { newRequestId } from './chat/response.ts';
import { createMonitor, type Monitor, type MonitorDeps } from './monitoring/monitor.ts';
import { type Checker, createChecker, createHungWatch } from './routing/checker.ts';
import { createHealthCheck } from './routing/health-check-routes.ts';
import { createHedgeBudget } from './routing/route.ts';
import { createLessons } from './routing/lessons.ts';
import { createModelCatalogue, type ModelCatalogue } from './upstream/model-catalogue.ts';
import {
  listedName,
  type LocalSources,
  type RemoteUpstream,
  remoteUpstreams,
} from './upstream/upstreams.ts';
import { feedRoutes } from './api/feed-routes.ts';
import { sessionRoutes } from './api/session-routes.ts';
import { modelRoutes } from './api/model-routes.ts';
import { reportRoutes } from './api/report-routes.ts';
import { upstreamRoutes } from './api/upstream-routes.ts';
import { windowRoutes } from './api/window-routes.ts';
import type { UpstreamId } from '#shared/ids.ts';
import { createMemory, type Memory } from './memory/memory.ts';
import { cutWindowsIn, preferringCopies } from './routing/windows.ts';
import { createItemMemory } from './protocols/responses/item-memory.ts';

export interface GatewayDeps
  extends MonitorDeps, LocalSources, Pick<ChatDeps, 'identifyLocal' | 'localUsed'> {
  readonly settings: SettingsApi;
  /** Reads the models of the own engines now. */
  readonly enginesChanged: () => Promise<void>;
  readonly keys: NamedKeys;
  readonly gpus: () => readonly GpuFigures[];
  /** As `keep`, for the sessions and the remembered browsers. */
  readonly keepSessions: MonitorDeps['keep'];
  readonly keepBrowsers: MonitorDeps['keep'];
  /** It is the demo: its link works any number of times, and signs in every tab of the browser that opened it. */
  readonly isDemo: boolean;
  readonly about: AboutApp;
  readonly controlToken: string;
  readonly ownPackage: () => Promise<OwnPackage>;
  readonly windowDirectory: string;
  /** What the window shows of the app; the gateway adds the address. */
  readonly app: () => Omit<AppInfo, 'baseUrl'>;
  readonly onPortTaken: OnPortTaken;
  /** Of the agent, the registry and the demo. */
  readonly moreRoutes: readonly Route[];
}

export type Gateway = ReturnType<typeof createGateway>;

/** Copies of a body in memory: as received, and as rewritten for an upstream. */
const BODY_COPIES = 2;

/** Nothing listens before `start`. */
export function createGateway(deps: GatewayDeps) {
  const { config, http, clock, random, log, machines, app } = deps;
  const pickLocal = preferringCopies(deps, config);
  const remotes = () => remoteUpstreams(config());
  const onBug = (error: unknown) => log('error', 'bug', { error: stackOf(error) });
  const makeServer = () => createGatewayServer(serverDeps);
  const lifecycle = createLifecycle(makeServer, { clock, log, onPortTaken: deps.onPortTaken });
  const memory = createMemory(clock);

  const monitor = createMonitor(deps, {
    memory,
    pickLocal,
    app: () => ({ ...app(), baseUrl: lifecycle.baseUrl() }),
    opened: (id, how) => checker.opened(id, how),
    admission: () => admission.view(config().gateway.maxConcurrentRequests),
    watched: (isWatched) => checker.watched(isWatched),
  });
  const { logs, counters, refusedKey, warmup, feed, circuits, budgets, keyLimits } = monitor;
  const admission = createAdmission();
  const modelsRead = (id: UpstreamId, isUp: boolean) => {
    if (isUp !== wasUp(memory.of(id))) checker.checkNow(id);
  };
  const catalogue = createModelCatalogue({ memory, http, clock, config, modelsRead });
  const { inFlightAt } = counters;
  const checker = createChecker({
    memory,
    clock,
    config,
    circuits,
    checkHealth: createHealthCheck({ http, clock, config, circuits, pickLocal, remotes }),
    inFlightAt,
    isPooled: () => pickLocal().kind === 'tier',
    onChange: feed.changed,
  });
  const watchHung = createHungWatch({ clock, config, check: checker.check, inFlightAt });
  const access = accessOf(deps, lifecycle);
  const { identify, controlLink } = access;
  // A name by which the window reached this gateway, such as a proxy's, works for other machines, too.
  const gatewayUrl = ({ headers }: Request) =>
    isAskedOnLoopback(headers) ? lifecycle.outsideUrl() : askedUrl(headers);
  const routes = routesOf(deps, {
    pickLocal,
    monitor,
    memory,
    catalogue,
    remotes,
    checker,
    access,
    lifecycle,
  });
  // Created with the first request that needs it: this takes 5 ms, and chat requests do not need it.
  let express: RequestListener | null = null;
  const otherwise: RequestListener = (req, res) =>
    (express ??= createExpressListener(routes, {
      identify,
      refusedKey,
      windowDirectory: deps.windowDirectory,
      clock,
      gatewayUrl,
      onBug,
    }))(req, res);
  const chat: ChatDeps = {
    config,
    http,
    clock,
    random,
    pickLocal,
    identifyLocal: deps.identifyLocal,
    localUsed: deps.localUsed,
    circuits,
    memory,
    lessons: createLessons({ clock, circuits, memory }),
    warmup,
    watchHung,
    budgets,
    keyLimits,
    budget: createHedgeBudget(),
    admission,
    bodies: createBodyBudget(BODY_COPIES),
    items: createItemMemory(MAX_ITEM_BYTES),
    catalogue,
    noteDropped: logDroppedFields(log),
    machineName: machines.nameOf,
    observe: logs.begin,
    inFlightAt,
    isRunning: counters.isRunning,
  };
  const serverDeps = {
    config,
    id: newRequestId(),
    refusedOrigin: logRefusedOrigins(log),
    refusedKey,
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
    /** Something has changed at an upstream, or at all whose circuit is open: they are checked now instead of in their turn. */
    checkNow: (id?: UpstreamId) => checker.checkNow(id),
    modelsRead,
    /** Models whose engine was caught cutting prompts. */
    cuts: () => memory.ids('window').flatMap((id) => cutWindowsIn(memory.of(id))),
    url: lifecycle.url,
    baseUrl: lifecycle.baseUrl,
    ports: (): readonly number[] =>
      lifecycle.url() === '' ? [] : [Number(new URL(lifecycle.url()).port)],
    /** The window's address with a new one-time code for a control session. */
    controlLink,
    ...changeHandlers(monitor, memory, checker),
    start(): Promise<string | null> {
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
function accessOf(deps: GatewayDeps, { isShared, url }: Lifecycle) {
  const { clock, config, controlToken, keys } = deps;
  const sessions = createSessions(clock, deps.keepSessions, { reusesCodes: deps.isDemo });
  const browsers = createBrowsers(clock, deps.keepBrowsers);
  const isSession = (token: string) => sessions.isSession(token) || browsers.isRemembered(token);
  const identify = createIdentify({ config, controlToken, keys, isShared }, isSession);
  const controlLink = () => `${url()}/#code=${sessions.newCode()}`;
  return { sessions, browsers, identify, controlLink };
}

interface RouteParts extends Pick<ChatDeps, 'pickLocal'> {
  readonly memory: Memory;
  readonly monitor: Monitor;
  readonly catalogue: ModelCatalogue;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly checker: Checker;
  readonly access: ReturnType<typeof accessOf>;
  readonly lifecycle: Lifecycle;
}

function routesOf(deps: GatewayDeps, parts: RouteParts): readonly Route[] {
  const { config, http, clock, keys, machines, settings, app, gpus, isDemo } = deps;
  const { engineAt, enginesChanged, identifyLocal, about, controlToken, ownPackage } = deps;
  const { pickLocal, monitor, memory, catalogue, remotes, checker, lifecycle } = parts;
  const { sessions, browsers, identify, controlLink } = parts.access;
  const { circuits, keyLimits, usage, feed } = monitor;
  const { summary, nameOf } = machines;
  const isProvider = (id: string) => machines.excerpt(id) !== null;
  const { isShared, endAtStop } = lifecycle;
  const upstreams = { clock, config, pickLocal, remotes, circuits, memory, checker };
  return [
    ...modelRoutes({ config, pickLocal, remotes, catalogue, memory, usage, nameOf }),
    ...reportRoutes({ monitor, config, keys, summary, nameOf, gpus, app, identify }),
    ...feedRoutes({ feed, clock, identify, checker, endAtStop }),
    ...sessionRoutes({ sessions, isDemo, controlLink, app }),
    ...accessRoutes({ browsers, about, controlToken, app }),
    ...controlRoutes({ monitor, settings, config, remotes, checker, isProvider }),
    ...keyRoutes({ keys, keyLimits, config, feed }),
    ...sharingRoutes({ config, settings, lifecycle }),
    ...upstreamRoutes({ http, feed, identifyLocal, ...upstreams }),
    ...windowRoutes({ http, settings, engineAt, enginesChanged, ...upstreams }),
    ...installRoutes({ ownPackage, isShared }),
    ...deps.moreRoutes,
  ];
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
    traffic(id: string): ProviderTraffic {
      const { ttft, requests, successes } = circuits.at(id).breaker.health;
      return {
        ewmaTtft: roundedMean(ttft),
        ewmaLatency: roundedMean(memory.of(id).get('latency')?.mean ?? null),
        concurrentRequests: counters.inFlightAt(id),
        totalRequests: requests,
        successCount: successes,
      };
    },
    /** What happens to machines of the registry. */
    machineEvents: {
      /** It has a new token, so its circuit and exclusions no longer apply. */
      enrolled: (id: string) => replaced(id),
      /** Its engine is healthy again, or it is back with a healthy one: the next request may probe it at once. */
      recovered: (id: string) => checker.recovered(id),
      /** Its engine has lost the prompts in its cache, but those of the models that are still loaded. */
      emptied(id: string, loaded: readonly string[]) {
        memory.emptied(id, (model) => listedName(loaded, model) !== null);
      },
      /** It has answered the completion of its verification. */
      proved: (id: string) => checker.passed(id),
      /** Everything known about it is discarded. */
      removed(id: string) {
        checker.removed(id);
        memory.drop(id);
        unsaved();
      },
    },
  };
}

/** For items of answers that callers may refer to; enough for thousands of answers. */
const MAX_ITEM_BYTES = 16 * 1024 * 1024;
