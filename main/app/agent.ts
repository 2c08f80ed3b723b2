import type { JoinLine } from '#shared/join-line.ts';
import { type Agent, type AgentDeps, createAgent } from '../agent/agent.ts';
import { agentRoutes } from '../agent/routes.ts';
import { createTelemetry } from '../agent/telemetry/telemetry.ts';
import { createStartTool, type StartTool } from '../agent/telemetry/tool-process.ts';
import { isLoopbackHost } from '../platform/http/server.ts';
import { reach } from '../platform/addresses.ts';
import { VERSION } from './package.ts';

type Made = 'version' | 'platform' | 'startTool' | 'telemetry' | 'enginePorts';

export interface ThisMachineDeps extends Omit<AgentDeps, Made> {
  readonly startHelper: StartTool | undefined;
  readonly changed: () => void;
  /** Saves the setting `agent.host`. */
  readonly saveHost: (host: string) => void;
}

/** The agent of this machine, null while its owner has switched it off. */
export type ThisMachine = ReturnType<typeof createThisMachine>;

/** Nothing runs before `start`. */
export function createThisMachine(deps: ThisMachineDeps) {
  const { config, clock } = deps;
  if (!config().agent.enabled) return { agent: null, routes: agentRoutes(null) };
  const { env, platform } = process;
  const agent: Agent = createAgent({
    ...deps,
    version: VERSION,
    platform,
    startTool: createStartTool({ env, platform }),
    telemetry: createTelemetry({ clock, env, platform, startHelper: deps.startHelper }),
  });
  agent.subscribe(deps.changed);
  const join = (line: JoinLine) => joinReachably(agent, deps, line);
  return { agent, routes: agentRoutes({ ...agent, join }) };
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
