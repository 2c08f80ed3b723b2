import { createPublicKey, type KeyObject } from 'node:crypto';
import { CHECKS } from '#shared/provider.ts';
import { verifyHealth } from '../../platform/agent-identity.ts';
import { isLoopbackHost, urlHost } from '../../platform/http/server.ts';
import { memberOf, parseJson, textOf } from '../../platform/json.ts';
import { type ProbeAnswer, ask, type ProbeEdges } from './inference-checks.ts';
import { type DoctorEntry, shown } from './report.ts';

/** The agent of this machine according to its settings and files. */
export interface ExpectedAgent {
  readonly isEnabled: boolean;
  readonly host: string;
  readonly ports: readonly number[];
  /** Null if it has no key yet. */
  readonly privateKey: KeyObject | null;
  readonly id: string | null;
  /** The token of the gateway that it has joined; null if that is the gateway of this process. */
  readonly gatewayToken: string | null;
  /** Null if that is the gateway of this process. */
  readonly registryUrl: string | null;
  /** The ports that a gateway elsewhere checks. */
  readonly gatewayPorts: readonly number[];
  /** Why a port could not be bound, by port; empty if unknown. */
  readonly taken: ReadonlyMap<number, string>;
}

export interface AgentFound {
  readonly entries: readonly DoctorEntry[];
  /** Where the agent answers correctly; null if it does not. */
  readonly origin: string | null;
}

const GET_TIMEOUT_MS = 5000;

/** Requests `/health` on every port, as a registry would. */
export async function checkAgent(
  agent: ExpectedAgent,
  nonce: string,
  edges: ProbeEdges,
): Promise<AgentFound> {
  const asked = await Promise.all(agent.ports.map((port) => checkPort(agent, port, nonce, edges)));
  const well = asked.find(({ isHealthy }) => isHealthy);
  const entries = asked.flatMap(({ bound, health }) => [
    bound,
    ...(health === null ? [] : [health]),
  ]);
  return { entries, origin: well?.origin ?? null };
}

async function checkPort(agent: ExpectedAgent, port: number, nonce: string, edges: ProbeEdges) {
  const origin = `http://${urlHost(reachable(agent.host))}:${port}`;
  // Without the token, because another program may use the port.
  const probe = { origin, path: `/health?nonce=${nonce}`, json: null };
  const answer = await ask(probe, GET_TIMEOUT_MS, edges);
  const tried = `GET ${origin}/health`;
  const isAgent = answer.kind === 'answer' && isAgents(answer);
  const boundRemedy = isAgent ? outOfReach(agent, port) : portRemedy(agent, port, answer);
  const bound: DoctorEntry = {
    name: 'agent port bound',
    passed: boundRemedy === null,
    tried,
    output: isAgent ? `the agent answers on port ${port}` : shown(answer.text),
    remedy: boundRemedy,
  };
  if (answer.kind !== 'answer' || !isAgent)
    return { origin, bound, health: null, isHealthy: false };
  const remedy = healthRemedy(agent, nonce, answer);
  const { latencyMs } = answer;
  const health: DoctorEntry = {
    name: CHECKS.health,
    passed: remedy === null,
    tried,
    output: shown(`HTTP ${answer.status} ${answer.text}`),
    remedy,
    latencyMs,
  };
  return { origin, bound, health, isHealthy: remedy === null };
}

/** An address by which this machine reaches the bound host. */
function reachable(host: string): string {
  const literal = host.replace(/^\[(.*)\]$/, '$1');
  if (literal === '0.0.0.0' || literal === 'localhost') return '127.0.0.1';
  return literal === '::' ? '::1' : literal;
}

type Answered = Extract<ProbeAnswer, { readonly kind: 'answer' }>;

/** Whether an agent of this program answered, whatever its answer. */
function isAgents({ text, headers }: Answered): boolean {
  const json = parseJson(text);
  return (
    headers['x-gateway-agent'] !== undefined ||
    memberOf(json, 'src') === 'agent' ||
    memberOf(json, 'signature') !== undefined
  );
}

function portRemedy(
  { isEnabled, taken }: ExpectedAgent,
  port: number,
  answer: ProbeAnswer,
): string {
  const isFree = answer.kind === 'none' && answer.isRefused && !taken.has(port);
  if (!isFree) {
    return `Port ${port} belongs to another program: stop it, or choose other ports with SWITCHYARD_AGENT_PORTS.`;
  }
  if (!isEnabled) return 'The agent is switched off: set SWITCHYARD_AGENT to true and start again.';
  return 'Start Switchyard on this machine: its agent listens there.';
}

function healthRemedy(agent: ExpectedAgent, nonce: string, answer: Answered): string | null {
  const { status, text } = answer;
  const json = parseJson(text);
  const said = textOf(memberOf(json, 'status'));
  if (said === 'loading') return 'The engine is loading a model: wait until it has finished.';
  if (status !== 200 || said !== 'ok') return 'Check the log of Switchyard on this machine.';
  if (isSignedBy(agent, nonce, json)) return null;
  return 'The agent that answers has another key than this data directory: set SWITCHYARD_DATA_DIR to its own, or stop the other agent.';
}

function isSignedBy({ privateKey, id }: ExpectedAgent, nonce: string, json: unknown): boolean {
  if (privateKey === null || id === null || textOf(memberOf(json, 'id')) !== id) return false;
  const signature = textOf(memberOf(json, 'signature')) ?? '';
  return verifyHealth(createPublicKey(privateKey), { nonce, id, signature });
}

/** The remedy if the gateway that was joined cannot reach the agent, or does not check this port. */
function outOfReach(agent: ExpectedAgent, port: number): string | null {
  const { registryUrl, host, gatewayPorts } = agent;
  if (registryUrl !== null && !gatewayPorts.includes(port)) {
    return `The gateway at ${registryUrl} checks only the ports ${gatewayPorts.join(' and ')}: add one of them to SWITCHYARD_AGENT_PORTS.`;
  }
  if (registryUrl === null || !isLoopbackHost(host)) return null;
  if (isLoopbackHost(new URL(registryUrl).hostname)) return null;
  return `It listens on ${host}, where the gateway at ${registryUrl} cannot reach it: set SWITCHYARD_AGENT_HOST to this machine's address in that network, and start again.`;
}
