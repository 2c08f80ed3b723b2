import { isDeepStrictEqual } from 'node:util';
import type { JoinLine } from '#shared/join-line.ts';
import { type Agent, createAgent } from '../agent/agent.ts';
import type { HostActivity } from '../agent/availability/host-activity.ts';
import { OWNER_RULE_KEYS, rulesIn } from '../agent/availability/rules.ts';
import type { WindowCut } from '../agent/doctor/doctor.ts';
import type { OwnRegistry } from '../agent/registration/link.ts';
import { agentRoutes } from '../agent/routes.ts';
import { createTelemetry } from '../agent/telemetry/telemetry.ts';
import { createStartTool, type StartTool } from '../agent/telemetry/tool-process.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../platform/clock.ts';
import { isLoopbackHost } from '../platform/http/server.ts';
import type { HttpClient } from '../platform/http/types.ts';
import type { Log } from '../platform/log.ts';
import { reach } from '../platform/addresses.ts';
import { VERSION } from './package.ts';

export interface ThisMachineDeps {
  readonly config: () => Config;
  /** Whether an environment variable sets the setting at this path, such as `agent.onlyWhenIdle`. */
  readonly isFixed: (path: string) => boolean;
  readonly dataDirectory: string;
  readonly ownRegistry: OwnRegistry;
  /** Ports of this process, which are never taken for an engine's. */
  readonly otherPorts: () => readonly number[];
  /** Engines that the gateway has caught cutting prompts. */
  readonly cuts: () => readonly WindowCut[];
  /** Requests that this gateway sends to its fixed engine. */
  readonly directInFlight: () => number;
  readonly hostActivity: HostActivity;
  readonly startHelper: StartTool | undefined;
  readonly http: HttpClient;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  readonly changed: () => void;
  /** Saves the setting `agent.host`. */
  readonly saveHost: (host: string) => void;
}

/** The agent of this machine, null while its owner has switched it off. */
export type ThisMachine = ReturnType<typeof createThisMachine>;

const RULE_SETTINGS = [...OWNER_RULE_KEYS, 'freeMemory', 'idleUnloadMin'] as const;

/** Nothing runs before `start`. */
export function createThisMachine(deps: ThisMachineDeps) {
  const { config, clock } = deps;
  const { agent: given } = config();
  if (!given.enabled) return { agent: null, routes: agentRoutes(null), configured() {} };
  const { env, platform } = process;
  const agent: Agent = createAgent({
    ...deps,
    version: VERSION,
    platform,
    address: { host: given.host, ports: given.ports },
    engineUrl: given.engineUrl,
    engineApiKey: given.engineApiKey,
    registryUrl: given.registryUrl,
    otherRegistryUrls: given.otherRegistryUrls,
    enrollToken: given.enrollToken,
    settings() {
      const { agent: own, gateway } = config();
      const { heartbeatMs, region, freeMemory, idleUnloadMin } = own;
      const { allowedHosts, maxBodyBytes, maxBodiesInFlightBytes } = gateway;
      const electricity = { priceKwh: gateway.electricityPriceKwh, currency: gateway.currency };
      const limits = { maxBodyBytes, maxBodiesInFlightBytes };
      const memory = { freeMemory, idleUnloadMin, electricity };
      return { heartbeatMs, region, allowedHosts, ...limits, ...memory, rules: rulesIn(own) };
    },
    heldRules: RULE_SETTINGS.filter((rule) => deps.isFixed(`agent.${rule}`)),
    startTool: createStartTool({ env, platform }),
    telemetry: createTelemetry({ clock, env, platform, startHelper: deps.startHelper }),
  });
  agent.subscribe(deps.changed);
  return {
    agent,
    routes: agentRoutes({ ...agent, join: (line) => joinReachably(agent, deps, line) }),
    /** Applies changed settings: address, engine and registry. */
    configured({ agent: now }: Config, { agent: before }: Config) {
      agent.rulesChanged();
      const { host, ports, engineUrl: url, engineApiKey: apiKey } = now;
      const isElsewhere = host !== before.host || ports.join() !== before.ports.join();
      if (isElsewhere) void agent.listen({ host, ports });
      if (url !== before.engineUrl || apiKey !== before.engineApiKey)
        agent.serveEngineAt({ url, apiKey });
      const [reportsTo, reportedTo] = [registriesIn(now), registriesIn(before)];
      if (!isDeepStrictEqual(reportsTo, reportedTo)) void agent.reportTo(reportsTo);
    },
  };
}

function registriesIn({ registryUrl, otherRegistryUrls, enrollToken }: Config['agent']) {
  return { registryUrl, otherRegistryUrls, enrollToken };
}

/** Joins, then makes the agent listen where that gateway can reach this machine. */
async function joinReachably(
  agent: Agent,
  { config, isFixed, saveHost }: ThisMachineDeps,
  line: JoinLine,
): ReturnType<Agent['join']> {
  const joined = await agent.join(line);
  if (joined.kind === 'failed' || isFixed('agent.host') || !isLoopbackHost(config().agent.host)) {
    return joined;
  }
  const reached = await reach(joined.url);
  if (reached.kind === 'reached' && !isLoopbackHost(reached.localAddress)) {
    saveHost(reached.localAddress);
  }
  return joined;
}
