import { constants } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import type {
  HttpClient,
  HttpRequest,
  TransportFailure,
} from '../../../main/platform/http/types.ts';
import { startByteServer, tlsFile, trustOwnCertificate } from '../../support/byte-server.ts';
import { listening } from '../../support/listening.ts';

const HI = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';

let client: HttpClient;
beforeEach(() => {
  client = createHttpClient();
});
afterEach(() => client.close());
trustOwnCertificate();

/** `end` resolves with the failure, or with null at a good end. */
function send(origin: string, request: Partial<HttpRequest> = {}) {
  const { promise: end, resolve } = Promise.withResolvers<TransportFailure | null>();
  const exchange = client.send(
    { method: 'GET', path: '/', headers: [], body: null, fresh: false, origin, ...request },
    { onHead() {}, onData() {}, onEnd: () => resolve(null), onFailure: resolve },
  );
  return { exchange, end };
}

test('a certificate that has expired makes the upstream unreachable', async () => {
  const server = await startByteServer('https', (socket) => socket.write(HI), 'expired.cert.pem');
  const failure = await send(server.origin).end;
  expect(failure).toMatchObject({ kind: 'unreachable', stale: false });
  expect(failure?.detail).toContain('its certificate has expired');
});

test('an upstream gets no byte of a request before its certificate is accepted', async () => {
  let heads = 0;
  const server = await startByteServer('https', () => void (heads += 1), 'expired.cert.pem');
  const { exchange, end } = send(server.origin, { method: 'POST', body: Buffer.from('secret') });
  await end;
  const open = server.connections.filter(({ destroyed }) => !destroyed);
  await Promise.all(open.map((socket) => once(socket, 'close')));
  expect([heads, exchange.hasLeft()]).toEqual([0, false]);
});

test('a TLS session that the server no longer accepts does not make it unreachable', async () => {
  const server = createTlsServer(
    {
      key: tlsFile('agent.key.pem'),
      cert: tlsFile('agent.cert.pem'),
      // Sessions that the server has to look up.
      maxVersion: 'TLSv1.2',
      secureOptions: constants.SSL_OP_NO_TICKET,
    },
    (socket) => socket.on('data', () => socket.write(HI)).on('error', () => {}),
  );
  const given: string[] = [];
  let refused = 0;
  server.on('newSession', (id, _data, done) => {
    given.push(id.toString('hex'));
    done();
  });
  server.on('resumeSession', (id, done) => {
    // A hello for no session has an id, too, which means nothing.
    const isOurs = given.includes(id.toString('hex'));
    if (isOurs) refused += 1;
    done(isOurs ? new Error('it is forgotten') : null, null);
  });
  const origin = `https://127.0.0.1:${await listening(server)}`;
  for (let n = 0; n < 3; n += 1) expect(await send(origin, { fresh: true }).end).toBeNull();
  expect(refused).toBe(2);
});
