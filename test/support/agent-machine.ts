import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { AGENT_PORTS } from '#shared/agent.ts';
import { signHealth } from '../../main/platform/agent-identity.ts';
import { createAgent, recordOf } from '../registry/world.ts';
import { completion, json, lists } from './upstream.ts';

const MODEL = 'qwen3-32b';
const [PORT = 3001] = AGENT_PORTS;

/** A machine: its engine on a loopback address of its own, and its agent. */
export async function startMachine(host: string) {
  const agent = createAgent({ now: () => Date.now() });
  let inferences = 0;
  let told = 0;

  function answer(req: IncomingMessage, res: ServerResponse): void {
    req.resume();
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://machine');
    if (pathname === '/v1/chat/completions') {
      inferences += 1;
      return json(200, completion('OK'))({ res });
    }
    if (pathname === '/v1/models') return lists(MODEL)({ res });
    const signature = signHealth(agent.privateKey, searchParams.get('nonce') ?? '', agent.id);
    json(200, { status: 'ok', id: agent.id, signature })({ res });
  }

  const server = createServer(answer).listen(PORT, host);
  await once(server, 'listening');
  return {
    agent,
    /** Test inferences so far. */
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
