import type { RequestListener } from 'node:http';
import type { Request } from 'express';
import type { LiveSnapshot } from '#shared/live.ts';
import { perConfig } from '../config/live-config.ts';
import { createBodyBudget } from '../platform/body-budget.ts';
import { newRequestId } from '../platform/secrets.ts';
import { createExpressListener, createGatewayServer } from './api/server.ts';
import { createLifecycle, type Started } from './api/lifecycle.ts';
import { logRefusedOrigins } from './auth/origin-guard.ts';
import { identifyBy } from './auth/identity.ts';
import { createBrowsers, createSessions } from './auth/sessions.ts';
import { createAdmission } from './chat/admission.ts';
import { logDroppedFields } from './chat/dropped-fields.ts';
import type { ChatDeps } from './chat/handler.ts';
import { askedUrl, isAskedOnLoopback } from './http/asked-url.ts';
import { createLearnt } from './learnt.ts';
import type { StatsView } from './monitoring/counters.ts';
import type { LiveFeed } from './monitoring/live-feed.ts';
import { createChecks, createMonitor } from './monitoring/monitor.ts';
import { createEngineActivity } from './routing/hung-engines.ts';
import { createHedgeBudget } from './routing/hedging.ts';
import { createModelCatalogue } from './upstream/model-catalogue.ts';
import { remoteUpstreams } from './upstream/upstreams.ts';
import type { GatewayDeps } from './gateway-deps.ts';
import { type ChangeHandlers, changeHandlers } from './change-handlers.ts';
import { routesOf } from './gateway-routes.ts';

/** Chat requests in progress, and totals since the data directory was created. */
export interface GatewayLoad {
  readonly in_flight: number;
  readonly requests: number;
  readonly answers: number;
  readonly fallbacks: number;
  readonly tokens: number;
}

export interface Gateway extends ChangeHandlers {
  start(): Promise<Started>;
  /** Running requests may finish within `graceMs`, then they are aborted. */
  stop(graceMs: number): Promise<void>;
  /** Fetches the models of the hosted upstreams now instead of when the list is first read. */
  askForModels(): void;
  /** The machine has woken from sleep. */
  resumed(): void;
  snapshot(): LiveSnapshot;
  load(): GatewayLoad;
  readonly feed: LiveFeed;
  url(): string;
  baseUrl(): string;
  /** Empty before the start. */
  ports(): readonly number[];
  /** The window's address with a new one-time code for a control session. */
  controlLink(): string;
}

/** Copies of a body in memory: as received, and as rewritten for an upstream. */
const BODY_COPIES = 2;

/** Nothing listens before `start`. */
export function createGateway(deps: GatewayDeps): Gateway {
  const { clock, config, log, others } = deps;
  const remotesIn = perConfig(remoteUpstreams);
  const remotes = () => remotesIn(config());
  const onBug = (error: unknown) => log('error', 'bug', { error: stackOf(error) });
  const lifecycle = createLifecycle(() => createGatewayServer(serverDeps), deps);

  const monitor = createMonitor({
    ...deps,
    share: (own) => others.share(own),
    providers: deps.providers.known,
    summary: deps.providers.summary,
    routed: deps.providers.routed,
    nameOf: deps.providers.nameOf,
    app: () => ({ ...deps.app(), baseUrl: lifecycle.baseUrl() }),
    opened: (id, how) => healthChecks.opened(id, how),
    admission: () => limits.admission.view(),
    sightings: () => sightings,
  });
  const { logs, stats, warmup, feed } = monitor;
  const limits = limitsOf(deps, () => feed.changed());
  const catalogue = createModelCatalogue(deps);
  const learnt = createLearnt(deps);
  const { sightings, healthChecks, wedges, stopChecks } = createChecks(deps, monitor, remotes);
  const { sessions, browsers, identify } = accessOf({ ...deps, ...lifecycle });
  const controlLink = () => `${lifecycle.url()}/#code=${sessions.newCode()}`;
  // A name by which the window reached this gateway, such as a proxy's, works for other machines, too.
  const gatewayUrl = (req: Request) =>
    isAskedOnLoopback(req) ? lifecycle.outsideUrl() : askedUrl(req);
  const routes = routesOf(deps, {
    monitor,
    adjustments: learnt.adjustments,
    catalogue,
    remotes,
    sightings,
    sessions,
    browsers,
    controlLink,
    lifecycle,
    gatewayUrl,
  });
  // Created with the first request that needs it: this takes 5 ms, and chat requests do not need it.
  let express: RequestListener | null = null;
  const otherwise: RequestListener = (req, res) =>
    (express ??= createExpressListener(routes, { ...deps, identify, gatewayUrl, onBug }))(req, res);
  const chat: ChatDeps = {
    ...deps,
    ...monitor,
    budget: createHedgeBudget(),
    engines: createEngineActivity(clock),
    wedges,
    ...limits,
    ...learnt,
    noteDropped: logDroppedFields(log),
    observe: (asked) => deps.tracing.follow(asked, logs.begin(asked)),
    inFlightAt: others.inFlightBeside(stats),
    remotesIn,
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
    askForModels: () => remotes().forEach((each) => catalogue.listedBy(each)),
    resumed: () => healthChecks.checkNow(),
    snapshot: () => feed.snapshot(),
    load: () => loadOf(limits.admission.view().running, stats.view()),
    url: lifecycle.url,
    baseUrl: lifecycle.baseUrl,
    ports: () => (lifecycle.url() === '' ? [] : [Number(new URL(lifecycle.url()).port)]),
    controlLink,
    ...changeHandlers(monitor, { ...learnt, catalogue, sightings }),
    start() {
      healthChecks.start();
      others.start(stats);
      return lifecycle.start(config());
    },
    async stop(graceMs) {
      warmup.stop();
      stopChecks();
      others.stop();
      await lifecycle.stop(graceMs);
      await Promise.all([monitor.flush(), deps.keys.flush(), deps.tracing.close()]);
    },
  };
}

function limitsOf({ clock, config }: GatewayDeps, changed: () => void) {
  const limit = () => config().gateway.maxConcurrentRequests;
  return {
    admission: createAdmission({ clock, limit, changed }),
    bodies: createBodyBudget(() => config().gateway.maxBodiesInFlightBytes, BODY_COPIES),
  };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : 'unknown';
}

/** Who has control: the holder of the token, sessions and remembered browsers. */
function accessOf(deps: Parameters<typeof identifyBy>[0] & GatewayDeps) {
  const sessions = createSessions(deps.clock);
  const browsers = createBrowsers(deps.clock, deps.keepBrowsers);
  const isSession = (token: string) => sessions.isSession(token) || browsers.isRemembered(token);
  return { sessions, browsers, identify: identifyBy(deps, isSession) };
}

function loadOf(
  running: number,
  { totalRequests: requests, fallbackCount: fallbacks, answers, tokens }: StatsView,
): GatewayLoad {
  return { in_flight: running, requests, answers, fallbacks, tokens };
}
