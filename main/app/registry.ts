import { AGENT_PORTS } from '#shared/agent.ts';
import type { Provider, ProviderTraffic } from '#shared/provider.ts';
import type { OwnRegistry } from '../agent/registration/link.ts';
import type { Config } from '../config/schema.ts';
import { modelFacts } from '../engines/models.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { KnownMachines } from '../gateway/monitoring/monitor.ts';
import type { LocalChoice } from '../gateway/upstream/upstreams.ts';
import { parseBaseAddress, type LocalTarget } from '../gateway/upstream/upstreams.ts';
import type { Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http/types.ts';
import type { Log } from '../platform/log.ts';
import { memoizeLast } from '../platform/memoize.ts';
import { systemLookup } from '../platform/network-guard.ts';
import { newSecret } from '../platform/secrets.ts';
import { loadedModels } from '../registry/change-detection.ts';
import type { Target } from '../registry/provider-table.ts';
import { createRegistry } from '../registry/registry.ts';
import { registryRoutes } from '../registry/routes.ts';
import type { OpenedStore } from '../registry/store/store.ts';
import { createVerifier, type Verifier } from '../registry/verification/verifier.ts';
import type { VerifierNews } from '../registry/verifier-port.ts';
import { gatewaySecret } from './registry-store.ts';

export interface ProvidersDeps {
  readonly config: () => Config;
  readonly dataDirectory: string;
  readonly opened: OpenedStore;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Ports that the agent of this process has bound. */
  readonly ownPorts: () => readonly number[];
  readonly traffic: (id: string) => ProviderTraffic;
  /** A provider's record has changed. */
  readonly changed: () => void;
  readonly events: () => Gateway['machineEvents'];
}

/** The registry and its verifier, as the gateway uses them. */
export type Providers = ReturnType<typeof createProviders>;

export function createProviders(deps: ProvidersDeps) {
  const { config, opened, http, clock, log, events } = deps;
  const { store, state } = opened;
  const registry = createRegistry({
    store,
    state,
    clock,
    log,
    gatewaySecret: gatewaySecret(config(), deps.dataDirectory),
    heartbeatMs: () => config().agent.heartbeatMs,
    verifier: {
      providerChanged(id, news) {
        if (news.includes('enrolled')) events().enrolled(id);
        if (hasRecovered(news, registry.get(id))) events().recovered(id);
        if (news.includes('emptied')) events().emptied(id, stillLoaded(news, registry.get(id)));
        verifier.providerChanged(id, news);
      },
      removed(id) {
        events().removed(id);
        verifier.removed(id);
      },
    },
    addresses: () => config().gateway.poolAddresses,
    traffic: deps.traffic,
    changed: deps.changed,
    proved: (id) => events().proved(id),
  });
  const verifier: Verifier = createVerifier({
    host: registry.verifierHost,
    http,
    clock,
    log,
    lookup: systemLookup,
    newNonce: newSecret,
    rules: { ports: AGENT_PORTS, hostPort: 47_901, ownPorts: deps.ownPorts },
  });
  // The registry returns the same list until something changes.
  const targets = memoizeLast((list: readonly Target[]) => list.map(localTarget));
  return {
    routes: registryRoutes(registry),
    forGateway: {
      ids: (limit) => registry.ids(limit),
      excerpt: (id) => registry.excerpt(id),
      pool: () => (store.shared === undefined ? null : { problem: store.shared.problem() }),
      summary: registry.summary,
      absence: registry.absence,
      proof: registry.proof,
      nameOf: registry.nameOf,
      energyOf: (id) => registry.get(id)?.energy ?? null,
      routed: (id, result) => verifier.routed(id, result),
    } satisfies KnownMachines,
    /** For the agent of this process. */
    own: {
      adopt: (publicKey) => registry.adoptOwn(publicKey),
      heartbeat: (id, record) => registry.ownHeartbeat(id, record),
    } satisfies OwnRegistry,
    /** The machines that serve `local` if no engine is set. */
    pick(): LocalChoice {
      const now = targets(registry.targets());
      if (now.length > 0) return { kind: 'tier', targets: now };
      return { kind: 'none', reason: registry.reason(), causes: () => registry.causes() };
    },
    start() {
      registry.start();
      verifier.start();
    },
    async stop() {
      await verifier.stop();
      registry.stop();
      await store.close();
    },
  };
}

function hasRecovered(news: readonly VerifierNews[], provider: Provider | null): boolean {
  const mayHave = news.includes('engineHealth') || news.includes('returned');
  return mayHave && provider?.engine_health.status === 'ok';
}

function stillLoaded(news: readonly VerifierNews[], provider: Provider | null): readonly string[] {
  const hasRestarted = news.includes('rebooted') || news.includes('engineHealth');
  return hasRestarted || provider === null ? [] : loadedModels(provider);
}

function localTarget(target: Target): LocalTarget {
  const { id, address, gatewayToken, currentModel, ownedBy } = target;
  const others = target.models.filter((model) => model !== currentModel);
  const models = currentModel === null ? others : [currentModel, ...others];
  return {
    provider: id,
    baseAddress: parseBaseAddress(address, 'local'),
    models,
    listed: [],
    // An older agent may report only their names, or not all of this.
    facts:
      target.facts?.map((each) => modelFacts(each.id, each)) ??
      models.map((model) => modelFacts(model)),
    ownedBy,
    gatewayToken,
  };
}
