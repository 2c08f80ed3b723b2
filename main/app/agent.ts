import { isDeepStrictEqual } from 'node:util';
import type { JoinLine } from '#shared/join-line.ts';
import { type Agent, type AgentDeps, createAgent } from '../agent/agent.ts';
import { OWNER_RULE_KEYS, rulesIn } from '../agent/availability/rules.ts';
import { agentRoutes } from '../agent/routes.ts';
import { createTelemetry } from '../agent/telemetry/telemetry.ts';
import { createStartTool, type StartTool } from '../agent/telemetry/tool-process.ts';
import type { Config } from '../config/schema.ts';
import { isLoopbackHost } from '../platform/http/server.ts';
import { reach } from '../platform/addresses.ts';
import { VERSION } from '../platform/process.ts';

/** What the agent of this process gets as it is. */
type Passed =
  | 'dataDirectory'
  | 'ownRegistry'
  | 'otherPorts'
  | 'cuts'
  | 'directInFlight'
  | 'hostActivity'
  | 'http'
  | 'clock'
  | 'random'
  | 'log';

export interface ThisMachineDeps extends Pick<AgentDeps, Passed> {
  readonly config: () => Config;
  /** Whether an environment variable sets the setting at this path, such as `agent.onlyWhenIdle`. */
  readonly isFixed: (path: string) => boolean;
  readonly startHelper: StartTool | undefined;
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
    ...registriesIn(given),
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
