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
  { identity, registration }: AgentComponents,
  runtime: AgentRuntimeState,
  deps: Pick<AgentDeps, 'http' | 'clock' | 'telemetry' | 'otherPorts'>,
): Promise<DoctorReport> {
  const { http, clock, telemetry, otherPorts } = deps;
  const { kind, url } = registration.view();
  return runChecks({
    http,
    clock,
    telemetry,
    engines: { ...runtime.engine, ownPorts: [...openPorts(runtime), ...otherPorts()] },
    agent: {
      isEnabled: true,
      host: runtime.address.host,
      ports: runtime.ports.map(({ port }) => port),
      privateKey: identity.privateKey,
      id: identity.id,
      gatewayToken: registration.gatewayToken(),
      registryUrl: kind === 'joined' ? url : null,
    },
  });
}
