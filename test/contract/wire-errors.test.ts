import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';

/** Sends raw bytes and reads until the connection is closed. */
function exchange(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (part: string) => (text += part));
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}

test('a request head that is too large is answered with 431', async () => {
  const { url } = await startGateway({});
  const head = `GET /healthz HTTP/1.1\r\nHost: localhost\r\nCookie: ${'x'.repeat(20_000)}\r\n\r\n`;
  expect(await exchange(url, head)).toMatch(/^HTTP\/1\.1 431 /);
});

test('a caller that sends no HTTP gets a 400 and a closed connection', async () => {
  const { url } = await startGateway({});
  expect(await exchange(url, 'what is this\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
});

test.each(['::1', '[::1]'])('the setting HOST=%s binds the IPv6 loopback', async (host) => {
  const { url } = await startGateway({ HOST: host });
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
});
