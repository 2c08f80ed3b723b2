/** Machines that enrol, report, are verified and leave again, as long as a soak runs. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { signHealth } from '../../main/platform/agent-identity.ts';
import { agentRecord } from '../../test/support/agent-record.ts';
import { createAgent, type TestAgent } from '../../test/registry/world.ts';
import type { Control } from '../kit/control.ts';
import { repeating } from '../kit/repeating.ts';

export interface MachineFigures {
  readonly enrolled: number;
  readonly removed: number;
  readonly heartbeats: number;
  /** Requests of the registry's checks that were answered. */
  readonly checked: number;
}

/** Machines at a time; from then on one goes before another comes. */
const MOST = 8;
const STEP_MS = 250;
/** Each has a loopback address of its own, at the agents' own port: the registry asks no other one. */
const PORT = 3001;
const addressOf = (number: number) => `127.77.0.${1 + (number % MOST)}`;

const MODEL = 'qwen3-32b';
const LISTED = { object: 'list', data: [{ id: MODEL, object: 'model' }] };
const SAID = { model: MODEL, choices: [{ index: 0, message: { content: 'OK' } }] };

interface Machine {
  readonly agent: TestAgent;
  readonly address: string;
  readonly server: Server;
  acknowledged: number;
}

/** Starts them; `stop` holds the registry's count of heartbeats against what it acknowledged. */
export function startMachines(control: Control): { readonly stop: () => Promise<MachineFigures> } {
  const present: Machine[] = [];
  let [enrolled, removed, heartbeats, checked, steps] = [0, 0, 0, 0, 0];

  async function enrol(): Promise<void> {
    const agent = createAgent({ now: () => Date.now() });
    const { token } = await control.post<{ token: string }>('providers/enrollments', {});
    await control.send(agent.enroll(token));
    const address = addressOf(enrolled);
    const server = answerChecks(agent, () => void (checked += 1));
    server.listen(PORT, address);
    await once(server, 'listening');
    present.push({ agent, address, server, acknowledged: 0 });
    enrolled += 1;
  }

  async function beat(machine: Machine): Promise<void> {
    const host = { ...agentRecord().host, hostname: '' };
    const record = agentRecord({
      host,
      agent_url: `http://${machine.address}:${PORT}`,
      requests_served: machine.acknowledged,
    });
    await control.send(machine.agent.heartbeat(record));
    machine.acknowledged += 1;
    heartbeats += 1;
  }

  async function remove({ agent, server }: Machine): Promise<void> {
    server.closeAllConnections();
    server.close();
    await control.remove(`providers/${agent.id}`);
    removed += 1;
  }

  async function step(): Promise<void> {
    steps += 1;
    const oldest = present.length < MOST || steps % (4 * MOST) > 0 ? undefined : present.shift();
    if (oldest !== undefined) await remove(oldest);
    if (present.length < MOST) await enrol();
    const next = present[steps % present.length];
    if (next !== undefined) await beat(next);
  }

  const running = repeating(STEP_MS, step);

  return {
    async stop() {
      await running.stop();
      for (const { agent, acknowledged, server } of present) {
        server.closeAllConnections();
        server.close();
        // It is no machine of the list before its first heartbeat.
        if (acknowledged === 0) continue;
        const shown = await control.get<{ heartbeat_count: number }>(`providers/${agent.id}`);
        if (shown.heartbeat_count !== acknowledged) {
          throw new Error(`${shown.heartbeat_count} of ${acknowledged} heartbeats are counted`);
        }
      }
      return { enrolled, removed, heartbeats, checked };
    },
  };
}

function answerChecks({ id, privateKey }: TestAgent, onCheck: () => void): Server {
  return createServer((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://machine');
    onCheck();
    req.resume();
    const health = () => {
      const nonce = searchParams.get('nonce') ?? '';
      return { status: 'ok', id, signature: signHealth(privateKey, nonce, id) };
    };
    const answer = pathname === '/health' ? health() : pathname === '/v1/models' ? LISTED : SAID;
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify(answer));
  });
}
