import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AgentRecord } from '#shared/provider.ts';
import { AGENT_PORTS } from '#shared/agent.ts';
import { signHealth } from '../../main/platform/agent-identity.ts';
import { createAgent, recordOf, type TestAgent } from '../registry/world.ts';

/** A machine: its engine on a loopback address of its own, and its agent. */
export interface Machine {
  readonly agent: TestAgent;
  /** Test inferences so far. */
  readonly inferences: () => number;
  record(): AgentRecord;
  close(): void;
}

const MODEL = 'qwen3-32b';
const [PORT = 3001] = AGENT_PORTS;

export async function startMachine(host: string): Promise<Machine> {
  const agent = createAgent({ now: () => Date.now() });
  let inferences = 0;
  let told = 0;

  function answer(req: IncomingMessage, res: ServerResponse): void {
    req.resume();
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://machine');
    if (pathname === '/v1/chat/completions') {
      inferences += 1;
      return sendJson(res, {
        choices: [{ index: 0, message: { role: 'assistant', content: 'OK' } }],
      });
    }
    if (pathname === '/v1/models')
      return sendJson(res, { object: 'list', data: [{ id: MODEL, object: 'model' }] });
    const signature = signHealth(agent.privateKey, searchParams.get('nonce') ?? '', agent.id);
    sendJson(res, { status: 'ok', id: agent.id, signature });
  }

  const server = createServer(answer).listen(PORT, host);
  await once(server, 'listening');
  return {
    agent,
    inferences: () => inferences,
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
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function sendJson(res: ServerResponse, value: unknown): void {
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
