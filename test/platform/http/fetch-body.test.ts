import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../main/platform/clock.ts';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import { type BodyRequest, fetchBody } from '../../../main/platform/http/fetch-body.ts';
import { type Answering, startByteServer } from '../../support/byte-server.ts';

const HI = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';

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
