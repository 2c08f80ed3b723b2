import type { AgentListener, AgentMembership, AgentProblem } from '#shared/agent.ts';
import { isLoopbackHost } from '../platform/http/addresses.ts';
import type { FileWarning } from './storage.ts';

interface Circumstances {
  readonly host: string;
  readonly ports: readonly AgentListener[];
  readonly registry: AgentMembership;
  /** Warnings about files that were damaged or could not be written. */
  readonly warnings: readonly FileWarning[];
  readonly engineUrlFault: string | null;
}

/** A smaller difference between the clocks is not reported. */
const MAX_CLOCK_OFFSET_MS = 60_000;

/** All problems except those of drivers and their tools. */
export function problemsOf(seen: Circumstances): readonly AgentProblem[] {
  const { registry, ports, warnings, engineUrlFault } = seen;
  const problems: AgentProblem[] = warnings.map((warning) => ({
    tool: 'files of the agent',
    tried: 'reading saved files',
    ...warning,
  }));
  if (engineUrlFault !== null) {
    problems.push({
      tool: 'engine',
      tried: 'INGLENOOK_ENGINE_URL',
      happened: 'the address cannot be used, so no engine is served',
      remedy: engineUrlFault,
    });
  }
  problems.push(...portProblems(ports, seen.host));
  if (registry.kind === 'joined' && isLoopbackHost(seen.host) && !isHere(registry.url)) {
    problems.push({
      tool: 'agent',
      tried: `listening on ${seen.host}`,
      happened: `the gateway at ${registry.url ?? ''} cannot reach this machine's agent`,
      remedy:
        "Set INGLENOOK_AGENT_HOST to this machine's address in that network, or to 0.0.0.0, and start again.",
    });
  }
  if (registry.problem !== null) {
    const { happened, remedy } = registry.problem;
    problems.push({
      tool: 'registry',
      tried: registry.url ?? 'the gateway of this machine',
      happened,
      remedy: remedy ?? 'Nothing to do: it is retried.',
    });
  }
  const offsetS = Math.round(registry.clockOffsetMs / 1000);
  if (Math.abs(registry.clockOffsetMs) > MAX_CLOCK_OFFSET_MS) {
    problems.push({
      tool: 'clock',
      tried: "comparing it with the gateway's",
      happened: `this machine's clock is ${Math.abs(offsetS)} s ${offsetS > 0 ? 'behind' : 'ahead'}`,
      remedy: 'Turn on its time synchronisation; until then heartbeats are corrected.',
    });
  }
  return problems;
}

function portProblems(ports: readonly AgentListener[], host: string): readonly AgentProblem[] {
  const failed = ports.filter((port) => port.kind === 'failed');
  const open = ports.flatMap((port) => (port.kind === 'listening' ? [port.port] : []));
  const rest =
    open.length > 0
      ? `The agent still serves on ${open.join(' and ')}.`
      : 'Until then no gateway can reach this agent; its heartbeats continue.';
  return failed.map(({ port, message }) => ({
    tool: 'agent',
    tried: `listening on ${host}, port ${port}`,
    happened: message,
    remedy: `Stop the other program; the port is tried again every few seconds. ${rest}`,
  }));
}

const isHere = (url: string | null) => isLoopbackHost(URL.parse(url ?? '')?.hostname ?? '');
