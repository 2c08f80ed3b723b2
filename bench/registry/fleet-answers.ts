/**
 * Answers the registry's checks for some of the machines, in a process of its own: each machine has its own loopback
 * address, and one process may not have as many descriptors as there are machines.
 */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { signHealth } from '../../main/platform/agent-identity.ts';
import { messageOf } from '../../main/platform/errors.ts';
import type { LinkFailure } from '../kit/children.ts';
import { FLEET_MODEL, FLEET_PORT, gatewayTokens, hostOf, machineAt } from './fleet.ts';

/** Which machines it answers for. */
export interface AnswersOrder {
  readonly from: number;
  readonly to: number;
  /** The data directory of a gateway, where the secret is that the tokens are made from. */
  readonly directory: string;
}

/** To the order, once all listen, and to `count`: how many requests were answered with 200. */
export interface AnswersReply {
  readonly checked: number;
}

let checked = 0;

/** The machine's key is proved before the registry shows its token; everything else needs the token. */
function answerFor(order: AnswersOrder) {
  const indices = Array.from({ length: order.to - order.from }, (_, at) => order.from + at);
  const machines = indices.map(machineAt);
  const tokens = gatewayTokens(order.directory, machines);
  const byHost = new Map(
    machines.map((machine, at) => [hostOf(order.from + at), { machine, token: tokens[at] }]),
  );
  return (req: IncomingMessage, res: ServerResponse) => {
    const asked = byHost.get(req.socket.localAddress ?? '');
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://fleet');
    const refuse = (status: number) => void res.writeHead(status).end();
    if (asked === undefined) return refuse(421);
    const { machine, token } = asked;
    const isHealth = pathname === '/health';
    if (!isHealth && req.headers['x-gateway-token'] !== token) return refuse(401);
    checked += 1;
    const nonce = searchParams.get('nonce') ?? '';
    const answer = isHealth
      ? {
          status: 'ok',
          id: machine.id,
          signature: signHealth(machine.privateKey, nonce, machine.id),
        }
      : { object: 'list', data: [{ id: FLEET_MODEL, object: 'model' }] };
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify(answer));
  };
}

async function listen(order: AnswersOrder): Promise<void> {
  const server = createHttpServer({ keepAliveTimeout: 60_000 }, answerFor(order));
  const listening = [];
  for (let index = order.from; index < order.to; index += 1) {
    const listener = createServer((socket) => server.emit('connection', socket));
    listening.push(once(listener.listen(FLEET_PORT, hostOf(index)), 'listening'));
  }
  await Promise.all(listening);
}

const reply = (message: AnswersReply | LinkFailure) => process.send?.(message);

process.on('message', (message: AnswersOrder | 'count') => {
  if (message === 'count') return void reply({ checked });
  listen(message).then(
    () => reply({ checked }),
    (error: unknown) => reply({ error: messageOf(error) }),
  );
});
// The one who gives the order is gone.
process.on('disconnect', () => process.exit());
