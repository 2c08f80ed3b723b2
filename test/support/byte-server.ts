import { readFileSync } from 'node:fs';
import { createServer as createPlainServer, type Socket } from 'node:net';
import { join } from 'node:path';
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from 'node:tls';
import { afterAll, beforeAll } from 'vitest';
import { listening } from './listening.ts';

/** What a byte server does with the n-th whole request head of a connection, from 1. */
export type Answering = (socket: Socket, n: number, head: string) => void;

export const tlsFile = (name: string) => readFileSync(join(import.meta.dirname, 'tls', name));

/** Makes the tests of a file trust the servers' certificate. */
export function trustOwnCertificate(): void {
  const before = getCACertificates('default');
  beforeAll(() => setDefaultCACertificates([...before, tlsFile('agent.cert.pem').toString()]));
  afterAll(() => setDefaultCACertificates(before));
}

/** Starts a server that speaks bytes, plain or over TLS; it goes with the test. */
export async function startByteServer(
  protocol: 'http' | 'https',
  answering: Answering,
  certificate = 'agent.cert.pem',
) {
  const connections: Socket[] = [];
  const rests = new WeakMap<Socket, Buffer>();
  const onConnection = (socket: Socket) => {
    connections.push(socket);
    socket.on('error', () => {});
    let waiting = Buffer.alloc(0);
    let heads = 0;
    socket.on('data', (part: Buffer) => {
      waiting = Buffer.concat([waiting, part]);
      const end = waiting.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = waiting.toString('latin1', 0, end);
      rests.set(socket, waiting.subarray(end + 4));
      waiting = Buffer.alloc(0);
      heads += 1;
      answering(socket, heads, head);
    });
  };
  const server =
    protocol === 'http'
      ? createPlainServer(onConnection)
      : createTlsServer(
          { key: tlsFile('agent.key.pem'), cert: tlsFile(certificate) },
          onConnection,
        );
  const port = await listening(server);
  return {
    origin: `${protocol}://127.0.0.1:${port}`,
    /** Every connection so far. */
    connections,
    /** What came behind the head that is being answered, together with it. */
    rest: (socket: Socket): Buffer => rests.get(socket) ?? Buffer.alloc(0),
  };
}
