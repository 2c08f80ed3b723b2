import type { AgentView } from '#shared/agent.ts';
import { isLoopbackHost } from '../platform/loopback.ts';
import type { AgentDeps, AgentMoment, AgentParts } from './agent-parts.ts';
import { problemsOf } from './agent-problems.ts';
import type { OwnerRules } from './owner.ts';

export type { AgentView };

/** What is not one of the agent's parts. */
export interface ViewFacts {
  readonly deps: Pick<AgentDeps, 'version' | 'telemetry'>;
  readonly unjudged: readonly (keyof OwnerRules)[];
}

/** The agent as it is now. */
export function viewOf(
  parts: AgentParts,
  { address, ports, isLeaving }: AgentMoment,
  { deps, unjudged }: ViewFacts,
): AgentView {
  const { engines, warnings, engineUrlFault } = parts;
  const record = parts.record(false);
  const { wish, rules } = parts.ownership.state();
  const registry = parts.membership.view();
  const engine = engines.engine();
  const reading = deps.telemetry.read();
  const { host } = address;
  const isLoopbackOnly = isLoopbackHost(host);
  const own = problemsOf({ host, isLoopbackOnly, ports, registry, warnings, engineUrlFault });
  const isCpuOnly = reading.gpus.state === 'absent' && engine?.health.status === 'ok';
  return {
    id: parts.identity.id,
    version: deps.version,
    uptimeS: Math.floor(parts.uptimeS()),
    owner: { wish, rules, ...(isLeaving ? LEAVING : parts.mode()), unjudged },
    server: { host, ports, url: record.agent_url },
    registry,
    engine,
    engines: engines.engines(),
    record,
    inFlight: parts.inference.inFlight(),
    useEngineDirectly: isCpuOnly ? engine.baseUrl : null,
    problems: [...own, ...reading.problems],
  };
}

const LEAVING = { mode: 'leaving', reasons: ['The agent is stopping.'] } as const;
