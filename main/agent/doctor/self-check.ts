import { AGENT_PORTS, type DoctorReport, type GatewayVerdict } from '#shared/agent.ts';
import type { RegistrationView } from '../registration/registration.ts';
import {
  type AgentDeps,
  type AgentRuntimeState,
  type AgentComponents,
  openPorts,
} from '../components.ts';
import { runChecks } from './doctor.ts';

/** Checks the running agent of this process, rather than what its files describe. */
export function selfCheck(
  { identity, registration }: AgentComponents,
  runtime: AgentRuntimeState,
  deps: Pick<AgentDeps, 'http' | 'clock' | 'telemetry' | 'otherPorts'>,
): Promise<DoctorReport> {
  const { http, clock, telemetry, otherPorts } = deps;
  const view = registration.view();
  const registryUrl = view.kind === 'joined' ? view.url : null;
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
      registryUrl,
      gatewayPorts: AGENT_PORTS,
      taken: new Map(
        runtime.ports.flatMap((port) =>
          port.kind === 'failed' ? [[port.port, port.message]] : [],
        ),
      ),
    },
    gateway: verdictOf(view, registryUrl),
  });
}

function verdictOf({ standing }: RegistrationView, url: string | null): GatewayVerdict | null {
  return standing === null ? null : { url, ...standing.verification };
}
