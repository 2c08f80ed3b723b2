import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../main/platform/clock.ts';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import { type BodyRequest, fetchBody } from '../../../main/platform/http/fetch-body.ts';
import { type Answering, startByteServer } from '../../support/byte-server.ts';

const HI = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';
const TIMED_OUT = 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

/** A server of bytes and a client for it. */
async function serving(answering: Answering) {
  const http = createHttpClient();
  onTestFinished(() => http.close());
  const server = await startByteServer('http', answering);
  const request: BodyRequest = {
    origin: server.origin,
    path: '/',
    headers: [],
    timeoutMs: 10_000,
    maxBytes: 100,
  };
  return { http, server, request };
}

test.each([
  ['GET', {}],
  ['POST', { json: Buffer.from('{}') }],
])(
  'a %s is sent once more when the kept connection was closed, and only once',
  async (_, ofPost) => {
    const { http, server, request } = await serving((socket, n) => {
      socket.write(n === 1 && server.connections.length < 3 ? HI : TIMED_OUT);
    });
    const send = () => fetchBody({ ...request, ...ofPost }, { http, clock: systemClock });
    expect(await send()).toMatchObject({ status: 200 });
    await new Promise((resolve) => setImmediate(resolve));
    expect(await send()).toMatchObject({ status: 200 });
    expect(server.connections).toHaveLength(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await send()).toMatchObject({ status: 408 });
    expect(server.connections).toHaveLength(3);
  },
);

test('a fetch that was aborted before it began sends nothing', async () => {
  const { http, server, request } = await serving((socket) => socket.write(HI));
  const signal = AbortSignal.abort();
  const result = await fetchBody(request, { http, clock: systemClock, signal });
  expect([result.kind, server.connections.length]).toEqual(['aborted', 0]);
});

test('a body over the limit is refused with its status, and its connection closed', async () => {
  const { http, server, request } = await serving((socket) => {
    socket.write(`HTTP/1.1 503 Busy\r\ncontent-length: 1000\r\n\r\n${'x'.repeat(101)}`);
  });
  const result = await fetchBody(request, { http, clock: systemClock });
  expect(result).toMatchObject({ kind: 'too_large', status: 503 });
  const [socket] = server.connections;
  if (socket?.closed === false) await once(socket, 'close');
});
