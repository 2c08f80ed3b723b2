import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../main/platform/clock.ts';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import { get } from '../../../main/platform/http/fetch-body.ts';
import { startByteServer } from '../../support/byte-server.ts';

const HI = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';
const TIMED_OUT = 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

test('a document is asked for once more when the kept connection is given up, and only once', async () => {
  const http = createHttpClient();
  onTestFinished(() => http.close());
  const server = await startByteServer('http', (socket, n) => {
    socket.write(n === 1 && server.connections.length < 3 ? HI : TIMED_OUT);
  });
  const ask = () =>
    get(
      { origin: server.origin, path: '/', headers: [], timeoutMs: 10_000, maxBytes: 100 },
      http,
      systemClock,
    );
  expect(await ask()).toMatchObject({ status: 200 });
  await new Promise((resolve) => setImmediate(resolve));
  expect(await ask()).toMatchObject({ status: 200 });
  expect(server.connections).toHaveLength(2);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await ask()).toMatchObject({ status: 408 });
  expect(server.connections).toHaveLength(3);
});
