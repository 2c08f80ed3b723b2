/**
 * What the machines send, in a process of its own: each sends its heartbeats on its own connection, signed
 * beforehand so that little is left to do while it counts.
 */
import { connect, type Socket } from 'node:net';
import { messageOf } from '../../main/platform/errors.ts';
import type { LinkFailure } from '../kit/children.ts';
import { signatureHeaders } from '../../main/platform/http-signature.ts';
import { quantile } from '../kit/numbers.ts';
import { machineAt, recordOf, type Machine } from './fleet.ts';

/** What the machines are told. */
export interface FleetOrder {
  /** Ports of the gateways, which take the machines in turn. */
  readonly ports: readonly number[];
  readonly machines: number;
  readonly heartbeatMs: number;
  readonly durationMs: number;
}

/** What became of the heartbeats. */
export interface FleetOutcome {
  readonly sent: number;
  readonly acknowledged: number;
  /** The first line of each answer that was not 200, some of them. */
  readonly wrong: readonly string[];
  readonly ackP50Ms: number;
  readonly ackP99Ms: number;
}

/** First `ready` once everything is signed, then the outcome. */
type FleetReply = 'ready' | FleetOutcome;

const PATH = '/api/v1/providers/heartbeat';
const TICK_MS = 5;
/** A process of this machine may have 20,000; where there are more machines, some share a connection. */
const MOST_CONNECTIONS = 12_000;
const WRONG_SHOWN = 3;
/** Answers that are still on their way at the end are waited for. */
const LAST_ANSWERS_MS = 3000;

function signedHeartbeat(machine: Machine, index: number, beat: number): Buffer {
  const body = Buffer.from(JSON.stringify(recordOf(index, beat)));
  const headers = signatureHeaders(
    { method: 'POST', path: PATH, body },
    {
      privateKey: machine.privateKey,
      keyId: machine.id,
      sequence: 1 + beat,
      createdS: Math.floor(Date.now() / 1000),
    },
  );
  const lines = Object.entries({
    host: 'localhost',
    'content-type': 'application/json',
    'content-length': String(body.length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${PATH} HTTP/1.1\r\n${lines.join('')}\r\n`), body]);
}

/** Sends everything at its time; resolves with what came of it. */
function sendHeartbeats(order: FleetOrder, messages: readonly Buffer[]): Promise<FleetOutcome> {
  const { ports, machines, heartbeatMs, durationMs } = order;
  const connections = Math.min(machines, MOST_CONNECTIONS);
  const sockets: Socket[] = [];
  const sentAt: number[] = [];
  const waitsMs: number[] = [];
  const wrong: string[] = [];
  let sent = 0;

  function socketOf(index: number): Socket {
    const known = sockets[index];
    if (known !== undefined) return known;
    const port = ports[index % ports.length] ?? 0;
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    socket.on('data', (data) => {
      const line = data.toString('latin1', 0, 20);
      if (!line.startsWith('HTTP/1.1 ')) return;
      if (line.startsWith('HTTP/1.1 200')) waitsMs.push(performance.now() - (sentAt[index] ?? 0));
      else if (wrong.length < WRONG_SHOWN) wrong.push(data.toString('utf8').slice(0, 600));
    });
    socket.on('error', ({ message }) => {
      if (wrong.length < WRONG_SHOWN) wrong.push(message);
    });
    sockets[index] = socket;
    return socket;
  }

  return new Promise((resolve) => {
    const begunAt = performance.now();
    const settle = () => {
      for (const socket of sockets) socket?.destroy();
      resolve({
        sent,
        acknowledged: waitsMs.length,
        wrong,
        ackP50Ms: quantile(waitsMs, 0.5),
        ackP99Ms: quantile(waitsMs, 0.99),
      });
    };
    const ticking = setInterval(() => {
      const elapsedMs = performance.now() - begunAt;
      const due = Math.min(messages.length, Math.floor((elapsedMs / heartbeatMs) * machines));
      for (; sent < due; sent += 1) {
        const index = (sent % machines) % connections;
        sentAt[index] = performance.now();
        socketOf(index).write(messages[sent] ?? '');
      }
      const isOver = elapsedMs > durationMs && waitsMs.length + wrong.length >= sent;
      if (!isOver && elapsedMs < durationMs + LAST_ANSWERS_MS) return;
      clearInterval(ticking);
      settle();
    }, TICK_MS);
  });
}

async function run(order: FleetOrder): Promise<void> {
  const machines = Array.from({ length: order.machines }, (_, index) => machineAt(index));
  const beats = Math.floor((order.durationMs / order.heartbeatMs) * order.machines);
  const messages = Array.from({ length: beats }, (_, beat) => {
    const index = beat % machines.length;
    const machine = machines[index] ?? machineAt(index);
    return signedHeartbeat(machine, index, 1 + Math.floor(beat / machines.length));
  });
  process.send?.('ready' satisfies FleetReply);
  process.send?.((await sendHeartbeats(order, messages)) satisfies FleetReply);
}

process.on('message', (order: FleetOrder) => {
  run(order).catch((error: unknown) =>
    process.send?.({
      error: messageOf(error),
    } satisfies LinkFailure),
  );
});
// The one who gives the order is gone.
process.on('disconnect', () => process.exit());
