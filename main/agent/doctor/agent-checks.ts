import { createPublicKey, type KeyObject } from 'node:crypto';
import { CHECKS } from '#shared/checks.ts';
import { verifyHealth } from '../../platform/agent-identity.ts';
import type { Clock } from '../../platform/clock.ts';
import { fetchBody } from '../../platform/http/fetch-body.ts';
import { isLoopbackHost, urlHost } from '../../platform/http/server.ts';
import type { HttpClient, ResponseHeaders } from '../../platform/http/types.ts';
import { bareHost } from '../../platform/network-guard.ts';
import { listOf, memberOf, parseJson, textOf } from '../../platform/json.ts';
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

interface AgentFound {
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

function reachable(host: string): string {
  const literal = bareHost(host);
  if (literal === '0.0.0.0' || literal === 'localhost') return '127.0.0.1';
  return literal === '::' ? '::1' : literal;
}

type ProbeReply = Extract<ProbeAnswer, { readonly kind: 'answer' }>;

/** Whether an agent of this program answered, whatever its answer. */
function isAgents({ text, headers }: ProbeReply): boolean {
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
    return `Port ${port} belongs to another program: stop it, or choose other ports with INGLENOOK_AGENT_PORTS.`;
  }
  if (!isEnabled) return 'The agent is switched off: set INGLENOOK_AGENT to true and start again.';
  return 'Start Inglenook on this machine: its agent listens there.';
}

function healthRemedy(agent: ExpectedAgent, nonce: string, answer: ProbeReply): string | null {
  const { status, text } = answer;
  const json = parseJson(text);
  const said = textOf(memberOf(json, 'status'));
  if (said === 'loading') return 'The engine is loading a model: wait until it has finished.';
  if (status !== 200 || said !== 'ok') return 'Check the log of Inglenook on this machine.';
  if (isSignedBy(agent, nonce, json)) return null;
  return 'The agent that answers has a different key from this data directory: set INGLENOOK_DATA_DIR to its directory, or stop that agent.';
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
    return `The gateway at ${registryUrl} checks only the ports ${gatewayPorts.join(' and ')}: add one of them to INGLENOOK_AGENT_PORTS.`;
  }
  if (registryUrl === null || !isLoopbackHost(host)) return null;
  if (isLoopbackHost(new URL(registryUrl).hostname)) return null;
  return `It listens on ${host}, where the gateway at ${registryUrl} cannot reach it: set INGLENOOK_AGENT_HOST to this machine's address in that network, and start again.`;
}

/** As long as a registry waits for its test inference. */
const INFERENCE_TIMEOUT_MS = 10_000;

/** The agent, as a registry would reach it, or the engine itself if no agent runs. */
export type ProbedPlace = Pick<Probe, 'origin' | 'gatewayToken' | 'authorization'> & {
  /** Path before `/v1`. */
  readonly basePath: string;
};

export async function checkInference(
  place: ProbedPlace,
  model: string | null,
  nonce: string,
  edges: ProbeEdges,
): Promise<readonly DoctorEntry[]> {
  if (model === null) return [NO_MODEL];
  const { basePath, ...where } = place;
  const path = `${basePath}/v1/chat/completions`;
  const messages = [{ role: 'user', content: `Say OK. (${nonce.slice(0, 16)})` }];
  const json = { model, messages, max_tokens: 16, temperature: 0, stream: false };
  const answer = await ask({ ...where, path, json }, INFERENCE_TIMEOUT_MS, edges);
  const tried = `POST ${place.origin}${path} for "${model}"`;
  const listPath = `${basePath}/v1/models`;
  const list = await ask({ ...where, path: listPath, json: null }, GET_TIMEOUT_MS, edges);
  return [
    ...judgeInference(answer, place, shown(tried)),
    judgeModels(list, model, `GET ${place.origin}${listPath}`),
  ];
}

const NO_MODEL: DoctorEntry = {
  name: CHECKS.inference,
  passed: false,
  tried: 'nothing: no model is offered',
  output: '',
  remedy: 'Load a model into the engine.',
};

function judgeInference(
  answer: ProbeAnswer,
  place: ProbedPlace,
  tried: string,
): readonly DoctorEntry[] {
  const { latencyMs } = answer;
  const hasChoices =
    answer.kind === 'answer' &&
    answer.status === 200 &&
    listOf(memberOf(parseJson(answer.text), 'choices')).length > 0;
  const output = rawOf(answer);
  const inference = { name: CHECKS.inference, passed: hasChoices, tried, output, latencyMs };
  const first = { ...inference, remedy: hasChoices ? null : inferenceRemedy(answer, place) };
  // Only a successful answer has a meaningful latency.
  if (!hasChoices && answer.kind === 'answer') return [first];
  const isFast = hasChoices && latencyMs < INFERENCE_TIMEOUT_MS;
  const remedy = isFast ? null : TOO_SLOW;
  return [
    first,
    { name: CHECKS.latency, passed: isFast, tried, output: `${latencyMs} ms`, remedy },
  ];
}

const TOO_SLOW =
  'Load the model before it is asked for, or serve a smaller one: 16 tokens must arrive within 10 s.';

function inferenceRemedy(answer: ProbeAnswer, { gatewayToken }: ProbedPlace): string {
  if (answer.kind === 'none') return TOO_SLOW;
  if (answer.headers['x-gateway-agent'] === 'unauthorized')
    return gatewayToken
      ? 'The running agent uses a different enrolment from the one on disk. Restart Inglenook, or join this machine again.'
      : 'It listens beyond this machine and answers only its gateway: see what that gateway says about it.';
  if (answer.status === 401 || answer.status === 403)
    return 'The engine requires a key: set INGLENOOK_ENGINE_URL to its address and INGLENOOK_ENGINE_API_KEY to its key.';
  if (answer.status === 503)
    return 'Paused, freed, draining or loading: the answer says which. Wait, or resume this machine ("inglenook resume").';
  return 'Check the log of the engine: its answer is not in the OpenAI format.';
}

function judgeModels(answer: ProbeAnswer, model: string, tried: string): DoctorEntry {
  const isList = answer.kind === 'answer' && answer.status === 200;
  const data = isList ? listOf(memberOf(parseJson(answer.text), 'data')) : [];
  const passed = data.some((entry) => textOf(memberOf(entry, 'id')) === model);
  const { latencyMs } = answer;
  const remedy = passed
    ? null
    : `"${shown(model)}" is not in the list of models: restart Inglenook, or the engine if its list is wrong.`;
  return { name: CHECKS.model, passed, tried, output: rawOf(answer), remedy, latencyMs };
}

function rawOf(answer: ProbeAnswer): string {
  return shown(answer.kind === 'answer' ? `HTTP ${answer.status} ${answer.text}` : answer.text);
}

export interface ProbeEdges {
  readonly http: HttpClient;
  readonly clock: Clock;
}

interface Probe {
  readonly origin: string;
  readonly path: string;
  readonly gatewayToken?: string | null;
  readonly authorization?: string | null;
  /** Null for a GET. */
  readonly json: unknown;
}

type ProbeAnswer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: ResponseHeaders;
      readonly text: string;
      readonly latencyMs: number;
    }
  /** `text` is the reason; `isRefused`: nothing listens there. */
  | {
      readonly kind: 'none';
      readonly text: string;
      readonly isRefused: boolean;
      readonly latencyMs: number;
    };

/** As much of an answer as a registry reads. */
const MAX_BYTES = 64 * 1024;

async function ask(
  { origin, path, json, gatewayToken, authorization }: Probe,
  timeoutMs: number,
  edges: ProbeEdges,
): Promise<ProbeAnswer> {
  const startedTicks = edges.clock.ticks();
  const headers = ['accept', 'application/json'];
  if (gatewayToken) headers.push('x-gateway-token', gatewayToken);
  if (authorization) headers.push('authorization', authorization);
  const body = json === null ? {} : { json: Buffer.from(JSON.stringify(json)) };
  const request = { origin, path, headers, ...body, timeoutMs, maxBytes: MAX_BYTES };
  const result = await fetchBody(request, edges);
  const latencyMs = Math.round(edges.clock.ticks() - startedTicks);
  if (result.kind !== 'response') {
    const isRefused = /^E(CONNREFUSED|ADDRNOTAVAIL|HOSTUNREACH|NETUNREACH)\b/.test(result.detail);
    return { kind: 'none', text: result.detail, isRefused, latencyMs };
  }
  const text = result.body.toString('utf8');
  return { kind: 'answer', status: result.status, headers: result.headers, text, latencyMs };
}
