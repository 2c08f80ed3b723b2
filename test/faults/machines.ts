import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AgentRecord } from '#shared/provider.ts';
import { AGENT_PORTS } from '#shared/agent.ts';
import { signHealth } from '../../main/platform/agent-identity.ts';
import { createAgent, recordOf, type TestAgent } from '../registry/world.ts';

/** A machine of the fleet: its engine on an address of loopback of its own, and the agent that joined last. */
export interface FaultMachine {
  agent: TestAgent;
  readonly inferences: { all: number; overlaps: number };
  /** By the token that a gateway shows: the id for which it was given out. */
  readonly ids: Map<string, string>;
  /** Requests of callers: how many there were, and those that wait while `isHolding`. */
  readonly calls: { all: number; isHolding: boolean; readonly held: (() => void)[] };
  record(): AgentRecord;
  /** Becomes another machine to the registry. */
  renew(): void;
  close(): void;
}

const MODEL = 'qwen3-32b';
const [PORT = 3001] = AGENT_PORTS;
/** By which a test inference is told from a caller's request (main/registry/verification/probes.ts). */
const PROBE = 'Say OK.';

/**
 * An inference whose gateway has gone away ends here a moment later, on a machine that is busy. It passes twice: a stall of
 * this process may take all of the first, before the end was read.
 */
const GRACE_MS = 200;

const newAgent = () => createAgent({ now: () => Date.now() });

interface FleetRules {
  /** How long the next test inference takes. */
  readonly holdMs: () => number;
  /** Whether processes had no time a moment ago: a gateway must stop 2 s before another may begin, and that may be late. */
  readonly wasStarved?: () => boolean;
}

export async function startMachine(
  host: string,
  { holdMs, wasStarved = () => false }: FleetRules,
): Promise<FaultMachine> {
  const inferences = { all: 0, overlaps: 0 };
  const calls: FaultMachine['calls'] = { all: 0, isHolding: false, held: [] };
  const ids: FaultMachine['ids'] = new Map();
  /** Those that are being served, with the id that each is for. */
  const served = new Set<{ readonly id: string }>();
  let told = 0;
  const machine: FaultMachine = {
    agent: newAgent(),
    inferences,
    ids,
    calls,
    record() {
      told += 1;
      return recordOf({
        models: [MODEL],
        current_model: MODEL,
        requests_served: told,
        agent_url: `http://${host}:${PORT}`,
        host: { ...recordOf().host, hostname: '', tailnet_hostname: null },
      });
    },
    renew: () => void (machine.agent = newAgent()),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };

  function infer(body: string, token: string, res: ServerResponse): void {
    const answer = { choices: [{ index: 0, message: { role: 'assistant', content: 'OK' } }] };
    if (!body.includes(PROBE)) {
      calls.all += 1;
      if (calls.isHolding) calls.held.push(() => sendJson(res, answer));
      else sendJson(res, answer);
      return;
    }
    inferences.all += 1;
    // A gateway that does not know yet that it was removed may still ask for the machine that it was before.
    const own = { id: ids.get(token) ?? token };
    const others = [...served].filter(({ id }) => id === own.id);
    served.add(own);
    const timer = setTimeout(() => sendJson(res, answer), holdMs());
    const judge = () => {
      if (others.some((other) => served.has(other)) && !wasStarved()) inferences.overlaps += 1;
    };
    let look = setTimeout(() => {
      look = setTimeout(judge, GRACE_MS);
    }, GRACE_MS);
    // It ends with its answer, and with the gateway that asked for it.
    res.on('close', () => {
      served.delete(own);
      clearTimeout(timer);
      clearTimeout(look);
    });
  }

  const server = createServer((req, res) => void answerTo(req, res, machine, infer));
  server.listen(PORT, host);
  await once(server, 'listening');
  return machine;
}

async function answerTo(
  req: IncomingMessage,
  res: ServerResponse,
  { agent }: FaultMachine,
  infer: (body: string, token: string, res: ServerResponse) => void,
): Promise<void> {
  res.on('error', () => {});
  let body = '';
  try {
    for await (const part of req.setEncoding('utf8')) body += String(part);
  } catch {
    return;
  }
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://machine');
  if (pathname === '/v1/chat/completions')
    return infer(body, String(req.headers['x-gateway-token']), res);
  if (pathname === '/v1/models')
    return sendJson(res, { object: 'list', data: [{ id: MODEL, object: 'model' }] });
  const signature = signHealth(agent.privateKey, searchParams.get('nonce') ?? '', agent.id);
  sendJson(res, { status: 'ok', id: agent.id, signature });
}

function sendJson(res: ServerResponse, value: unknown): void {
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** So many machines on addresses that no other program of this machine has. */
export async function startFleet(
  count: number,
  rules: FleetRules,
): Promise<readonly FaultMachine[]> {
  for (;;) {
    const [a, b] = [100, 200].map((from) => from + Math.floor(Math.random() * 50));
    const machines: FaultMachine[] = [];
    try {
      for (let n = 1; n <= count; n += 1)
        machines.push(await startMachine(`127.${a}.${b}.${n}`, rules));
      return machines;
    } catch (error) {
      for (const machine of machines) machine.close();
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
