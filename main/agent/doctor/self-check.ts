import type { DoctorReport } from '#shared/agent.ts';
import {
  type AgentDeps,
  type AgentRuntimeState,
  type AgentComponents,
  openPorts,
} from '../components.ts';
import { runChecks } from './doctor.ts';

/** Checks the agent of this process as it runs, rather than as its files describe it. */
export function selfCheck(
  { identity, membership }: AgentComponents,
  moment: AgentRuntimeState,
  deps: Pick<AgentDeps, 'http' | 'clock' | 'telemetry' | 'otherPorts'>,
): Promise<DoctorReport> {
  const { http, clock, telemetry, otherPorts } = deps;
  const { kind, url } = membership.view();
  return runChecks({
    http,
    clock,
    telemetry,
    engines: { ...moment.engine, ownPorts: [...openPorts(moment), ...otherPorts()] },
    agent: {
      isEnabled: true,
      host: moment.address.host,
      ports: moment.ports.map(({ port }) => port),
      privateKey: identity.privateKey,
      id: identity.id,
      gatewayToken: membership.gatewayToken(),
      registryUrl: kind === 'joined' ? url : null,
    },
  });
}
