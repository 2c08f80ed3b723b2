import type { Provider } from '#shared/provider.ts';
import { readControlToken } from '../../main/platform/secrets.ts';
import { createAgent, recordOf, type TestAgent } from '../registry/world.ts';
import { bearer, expectError, postJson, send, type HttpAnswer } from './http.ts';
import type { RunningCli } from './process.ts';

/** A machine, and what it knows for certain of what the registry has taken. */
export interface LoadedMachine {
  readonly agent: TestAgent;
  /** What its enrolment gave; null while a later one got no answer. */
  gatewayToken: string | null;
  /** Heartbeats that the registry has counted: those acknowledged, and perhaps those that got no answer. */
  least: number;
  most: number;
  /** What its last heartbeat told of `requests_served`, and what the last acknowledged one did. */
  told: number;
  heard: number;
  /** The last acknowledged one, as it was signed. */
  last: Signed | null;
}

type Signed = Omit<ReturnType<TestAgent['heartbeat']>, 'ip'>;

/** What was acknowledged, over all runs of the program. */
export interface Ledger {
  readonly machines: Map<string, LoadedMachine>;
  /** Ids whose removal was acknowledged. */
  readonly removed: Map<string, TestAgent>;
  /** Tokens that were given out and that nobody has shown yet. */
  readonly open: Set<string>;
  /** Tokens with which an enrolment was acknowledged. */
  readonly used: Set<string>;
}

/** One running program. */
export interface Registry {
  readonly url: string;
  readonly controlToken: string;
}

const ROOT = '/api/v1/providers';
/** At most so many at a time, so that what is checked after each start stays the same size. */
const MACHINES = 30;
const HEARTBEAT_LANES = 6;

/** Nothing acknowledged yet. */
export function createLedger(): Ledger {
  return { machines: new Map(), removed: new Map(), open: new Set(), used: new Set() };
}

/** Sends what an agent has signed. */
export function post({ url }: Registry, { path, headers, body }: Signed): Promise<HttpAnswer> {
  return send(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(headers as Record<string, string>) },
    body: body.toString(),
  });
}

/** A program's, once it serves. */
export async function registryOf(cli: RunningCli, directory: string): Promise<Registry> {
  const url = new URL(await cli.printed(/Base URL for your apps: (\S+)/)).origin;
  return { url, controlToken: readControlToken(directory) ?? '' };
}

/** The last heartbeat that was acknowledged is not taken again. */
export async function expectHeard(registry: Registry, { last }: LoadedMachine): Promise<void> {
  if (last !== null) expectError(await post(registry, last), 403, 'sequence_reused');
}

/** The last tokens that let a machine in let no other one in. */
export async function expectUsed(registry: Registry, ledger: Ledger): Promise<void> {
  for (const token of [...ledger.used].slice(-5)) {
    const stranger = createAgent({ now: () => Date.now() });
    expectError(await post(registry, stranger.enroll(token)), 401, 'invalid_token');
  }
}

/** A provider as the registry shows it. */
export async function shown({ url }: Registry, id: string): Promise<Provider | null> {
  const answer = await send(`${url}${ROOT}/${id}`);
  return answer.status === 200 ? (JSON.parse(answer.text) as Provider) : null;
}

/** Enrols a machine, or enrols it again; rejects when no answer came, and nobody knows what was done. */
export async function enrol(registry: Registry, ledger: Ledger, agent: TestAgent): Promise<void> {
  const token = await tokenFor(registry, ledger);
  // From here on nobody knows whether it was used, unless there is an answer.
  ledger.open.delete(token);
  const known = ledger.machines.get(agent.id);
  if (known !== undefined) known.gatewayToken = null;
  const answer = await post(registry, agent.enroll(token));
  if (answer.status !== 200) throw new Error(`enrolment: ${answer.text}`);
  const { gateway_token: gatewayToken } = JSON.parse(answer.text) as { gateway_token: string };
  ledger.used.add(token);
  const fresh = { agent, least: 0, most: 0, told: 0, heard: 0, last: null };
  ledger.machines.set(agent.id, Object.assign(known ?? fresh, { gatewayToken }));
}

async function tokenFor(registry: Registry, ledger: Ledger): Promise<string> {
  const [kept] = ledger.open;
  if (kept !== undefined && Math.random() < 0.5) return kept;
  const answer = await postJson(
    `${registry.url}${ROOT}/enrollments`,
    {},
    bearer(registry.controlToken),
  );
  if (answer.status !== 201) throw new Error(`enrolment token: ${answer.text}`);
  const { token } = JSON.parse(answer.text) as { token: string };
  ledger.open.add(token);
  return token;
}

/** Sends the next heartbeat of a machine. */
export async function beat(registry: Registry, machine: LoadedMachine): Promise<void> {
  machine.most += 1;
  machine.told += 1;
  const { told } = machine;
  const message = machine.agent.heartbeat(recordOf({ requests_served: told }));
  const answer = await post(registry, message);
  if (answer.status !== 200) throw new Error(`heartbeat: ${answer.text}`);
  machine.least += 1;
  machine.heard = told;
  machine.last = message;
}

export async function remove(
  registry: Registry,
  ledger: Ledger,
  machine: LoadedMachine,
): Promise<void> {
  const { agent } = machine;
  // From here on nobody knows whether it is there, unless there is an answer.
  ledger.machines.delete(agent.id);
  const answer = await send(`${registry.url}${ROOT}/${agent.id}`, {
    method: 'DELETE',
    headers: bearer(registry.controlToken),
  });
  if (answer.status >= 300) throw new Error(`removal: ${answer.text}`);
  ledger.removed.set(agent.id, agent);
}

/**
 * Enrols, reports and removes without a pause until the program is gone; resolves with the answers
 * that were not what they should be.
 */
export async function loadUntilGone(registry: Registry, ledger: Ledger): Promise<string[]> {
  const wrong: string[] = [];
  const clock = { now: () => Date.now() };
  /** A machine has one request on its way at a time, or its sequence would come out of order. */
  const busy = new Set<string>();
  const over = new AbortController();

  function idle(): LoadedMachine | null {
    const free = [...ledger.machines.values()].filter(({ agent }) => !busy.has(agent.id));
    return free[Math.floor(Math.random() * free.length)] ?? null;
  }

  async function withMachine(work: (machine: LoadedMachine) => Promise<unknown>): Promise<void> {
    const machine = idle();
    if (machine === null) {
      await new Promise((resolve) => setImmediate(resolve));
      return;
    }
    busy.add(machine.agent.id);
    try {
      await work(machine);
    } finally {
      busy.delete(machine.agent.id);
    }
  }

  async function come(): Promise<void> {
    if (ledger.machines.size >= MACHINES) {
      await withMachine((machine) => remove(registry, ledger, machine));
    } else if (Math.random() < 0.3) {
      await withMachine(({ agent }) => enrol(registry, ledger, agent));
    } else await enrol(registry, ledger, createAgent(clock));
  }

  async function lane(step: () => Promise<void>): Promise<void> {
    try {
      while (!over.signal.aborted) await step();
    } catch (error) {
      over.abort();
      // Without a code it was an answer, and a wrong one; with one the program is gone.
      if (!(error instanceof Error && 'code' in error)) wrong.push(String(error));
    }
  }

  const beats = () => withMachine((machine) => beat(registry, machine));
  await Promise.all([
    lane(come),
    lane(come),
    ...Array.from({ length: HEARTBEAT_LANES }, () => lane(beats)),
  ]);
  return wrong;
}
