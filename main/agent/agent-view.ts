import type { AgentView } from '#shared/agent.ts';
import { isLoopbackHost } from '../platform/loopback.ts';
import type { AgentDeps, AgentMoment, AgentParts } from './agent-parts.ts';
import { problemsOf } from './agent-problems.ts';
import type { OwnerRule } from './owner.ts';

export type { AgentView };

/** What is not one of the agent's parts. */
export interface ViewFacts {
  readonly deps: Pick<AgentDeps, 'version' | 'telemetry' | 'heldRules'>;
  readonly unjudgeable: readonly OwnerRule[];
}

/** The agent as it is now. */
export function viewOf(
  parts: AgentParts,
  { address, ports, engine: place, isLeaving }: AgentMoment,
  { deps, unjudgeable }: ViewFacts,
): AgentView {
  const { engines, ownership, warnings } = parts;
  const record = parts.record(false);
  const registry = parts.membership.view();
  const engine = engines.engine();
  const reading = deps.telemetry.read();
  const { host } = address;
  const isLoopbackOnly = isLoopbackHost(host);
  const own = problemsOf({
    host,
    isLoopbackOnly,
    ports,
    registry,
    warnings,
    engineUrlFault: place.fault,
  });
  const isCpuOnly = reading.gpus.state === 'absent' && engine?.health.status === 'ok';
  return {
    id: parts.identity.id,
    version: deps.version,
    uptimeS: Math.floor(parts.uptimeS()),
    owner: {
      wish: ownership.wish(),
      rules: ownership.rules(),
      ...(isLeaving ? LEAVING : parts.mode()),
      heldRules: deps.heldRules,
      unjudgeable,
    },
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
