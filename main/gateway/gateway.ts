import type { UpstreamId } from '#shared/ids.ts';
import type { AppInfo, LiveSnapshot, ProvidersSummary } from '#shared/live.ts';
import { perConfig } from '../config/live-config.ts';
import type { Config } from '../config/schema.ts';
import { createBodyBudget } from '../platform/body-budget.ts';
import type { Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http/types.ts';
import type { Log } from '../platform/log.ts';
import { newRequestId } from '../platform/secrets.ts';
import type { StateFile } from '../platform/state-file.ts';
import { type AgentApi, agentHandlers } from './api/agent-handlers.ts';
import { appHandlers } from './api/app-handlers.ts';
import { controlHandlers, type SettingsApi } from './api/control-handlers.ts';
import { createExpressListener } from './api/express.ts';
import { installHandlers, type OwnPackage } from './api/install-handlers.ts';
import {
  createLifecycle,
  type Lifecycle,
  type OnPortTaken,
  type Started,
} from './api/lifecycle.ts';
import { providerHandlers, type ProvidersApi } from './api/provider-handlers.ts';
import { type Route, routeTable } from './api/routes.ts';
import { createGatewayServer } from './api/server.ts';
import { identifyBy } from './auth/identity.ts';
import { createSessions, type Sessions } from './auth/sessions.ts';
import type { ReportProviderResult } from './monitoring/request-log.ts';
import { createAdmission } from './chat/admission.ts';
import { createLearnt, type Learnt } from './learnt.ts';
import { createHealthChecks } from './circuits/health-checks.ts';
import { providerTraffic, type ProviderTraffic } from './monitoring/counters.ts';
import type { LiveFeed } from './monitoring/live-feed.ts';
import { createMonitor, type Monitor } from './monitoring/monitor.ts';
import type { ProvidersKnown } from './monitoring/status.ts';
import { createEngineActivity } from './routing/engine-activity.ts';
import { healthCheckOf } from './routing/health-check-routes.ts';
import { createHedgeBudget } from './routing/hedge-policy.ts';
import type { UsageStore } from './usage/store.ts';
import type { LocalChoice } from './upstream/call.ts';
import { type RemoteUpstream, remoteUpstreams } from './upstream/upstreams.ts';

export interface GatewayDeps {
  readonly config: () => Config;
  readonly settings: SettingsApi;
  readonly http: HttpClient;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  readonly pickLocal: () => LocalChoice;
  readonly providers: GatewayProviders;
  /** The agent of this machine; null while it is switched off. */
  readonly agent: AgentApi | null;
  /** Opens the file that stores what `save` returns. */
  readonly keep: (save: () => unknown) => StateFile;
  readonly usage: UsageStore;
  readonly controlToken: string;
  /** What other machines install. */
  readonly ownPackage: () => Promise<OwnPackage>;
  readonly windowDirectory: string;
  /** What the window shows of the app; the gateway adds the address. */
  readonly app: () => Omit<AppInfo, 'baseUrl'>;
  readonly onPortTaken: OnPortTaken;
  /** Further routes, such as the demo's. */
  readonly moreRoutes: readonly Route[];
}

export interface GatewayProviders {
  readonly api: ProvidersApi;
  /** For the status report. */
  readonly known: () => ProvidersKnown;
  /** For the window. */
  readonly summary: () => ProvidersSummary;
  readonly isKnown: (id: string) => boolean;
  /** Called with the results of calls to providers. */
  readonly routed: ReportProviderResult;
}

export interface Gateway {
  start(): Promise<Started>;
  /** Running requests may finish for `graceMs`, then they are ended. */
  stop(graceMs: number): Promise<void>;
  snapshot(): LiveSnapshot;
  readonly feed: LiveFeed;
  resetCircuit(id: UpstreamId): void;
  /** An upstream has a new address, key or model: what was learnt of the old one is discarded. */
  upstreamChanged(id: UpstreamId): void;
  traffic(providerId: string): ProviderTraffic;
  /** A provider has a new token, so its circuit and exclusions no longer apply. */
  providerChanged(id: string): void;
  /** A provider or its engine is back: the next request may probe it at once. */
  providerRecovered(id: string): void;
  /** A provider was removed, and with it everything known of it. */
  providerRemoved(id: string): void;
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
  const { clock, config, log } = deps;
  const remotes = perConfig(remoteUpstreams);
  const onBug = (error: unknown) =>
    log('error', 'bug', {
      error: error instanceof Error ? (error.stack ?? error.message) : 'unknown',
    });

  const monitor = createMonitor({
    ...deps,
    providers: deps.providers.known,
    summary: deps.providers.summary,
    routed: deps.providers.routed,
    app: () => ({ ...deps.app(), baseUrl: lifecycle.baseUrl() }),
    opened: (id, how) => healthChecks.opened(id, how),
    admission: () => admission.view(),
  });
  const { logs, circuits, predictions, stats, warmup, feed } = monitor;
  const budget = createHedgeBudget();
  const engines = createEngineActivity(clock);
  const admission = createAdmission({
    clock,
    limit: () => config().gateway.maxConcurrentRequests,
    changed: () => feed.changed(),
  });
  const bodies = createBodyBudget(() => config().gateway.maxBodiesInFlightBytes, BODY_COPIES);
  const learnt = createLearnt(deps);
  const healthChecks = healthChecksOf(deps, circuits, () => remotes(config()));
  const sessions = createSessions(clock);
  const controlLink = () => `${lifecycle.url()}/#code=${sessions.newCode()}`;
  const identify = identifyBy(config, deps.controlToken, sessions);
  const routes = routesOf(deps, {
    monitor,
    remotes: () => remotes(config()),
    sessions,
    controlLink,
    lifecycle: () => lifecycle,
  });
  const { windowDirectory } = deps;
  const otherwise = createExpressListener(routes, { identify, windowDirectory, clock, onBug });
  const ownId = newRequestId();
  const makeServer = () =>
    createGatewayServer({
      config,
      id: ownId,
      identify,
      chat: {
        ...deps,
        warmup,
        circuits,
        predictions,
        budget,
        engines,
        bodies,
        admission,
        ...learnt,
        observe: (about) => logs.begin(about),
        inFlightAt: (id) => stats.inFlightAt(id),
        remotes: () => remotes(config()),
      },
      otherwise,
      isStopping: () => lifecycle.isStopping(),
      onBug,
    });

  const lifecycle = createLifecycle(makeServer, deps);

  return {
    feed,
    snapshot: () => feed.snapshot(),
    url: () => lifecycle.url(),
    baseUrl: () => lifecycle.baseUrl(),
    ports: () => (lifecycle.url() === '' ? [] : [Number(new URL(lifecycle.url()).port)]),
    controlLink,
    ...changeHandlers(monitor, learnt),
    start() {
      healthChecks.start();
      return lifecycle.start(config());
    },
    async stop(graceMs) {
      warmup.stop();
      healthChecks.stop();
      await lifecycle.stop(graceMs);
      await monitor.flush();
    },
  };
}

function healthChecksOf(
  deps: GatewayDeps,
  circuits: Monitor['circuits'],
  remotes: () => readonly RemoteUpstream[],
): ReturnType<typeof createHealthChecks> {
  const { clock, config } = deps;
  const isOn = () => config().routing.healthChecks;
  return createHealthChecks({
    clock,
    circuits,
    isOn,
    check: healthCheckOf({ ...deps, circuits, remotes }),
  });
}

type ChangeHandlers = Pick<
  Gateway,
  | 'resetCircuit'
  | 'upstreamChanged'
  | 'traffic'
  | 'providerChanged'
  | 'providerRecovered'
  | 'providerRemoved'
>;

/** Reactions to changes of upstreams and machines. */
function changeHandlers(
  { circuits, latencies, predictions, stats, warmup }: Monitor,
  { prefills, support, usageSupport }: Learnt,
): ChangeHandlers {
  function forgetSupport(id: string): void {
    support.forget(id);
    usageSupport.forget(id);
  }
  return {
    resetCircuit: (id) => circuits.reset(id),
    upstreamChanged(id) {
      circuits.reset(id);
      predictions.forget(id);
      prefills.forget(id);
      forgetSupport(id);
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

interface RouteParts {
  readonly monitor: Monitor;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly sessions: Sessions;
  readonly controlLink: () => string;
  /** A function, because the lifecycle is created with the server, which needs the routes. */
  readonly lifecycle: () => Lifecycle;
}

function routesOf(
  deps: GatewayDeps,
  { monitor, remotes, sessions, controlLink, lifecycle }: RouteParts,
): readonly Route[] {
  const { warmup, circuits } = monitor;
  const { settings, clock } = deps;
  const { summary, isKnown: isProvider } = deps.providers;
  const endAtStop: Lifecycle['endAtStop'] = (stream) => lifecycle().endAtStop(stream);
  const joinUrl = () => lifecycle().outsideUrl();
  const table = routeTable({
    app: appHandlers({ ...deps, ...monitor, summary, sessions, controlLink, endAtStop }),
    control: controlHandlers({ ...deps, settings, remotes, warmup, circuits, isProvider }),
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
