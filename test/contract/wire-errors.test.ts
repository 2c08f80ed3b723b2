import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { answers } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

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

test.each(['::1', '[::1]'])('the setting HOST=%s binds the IPv6 loopback', async (host) => {
  const { url } = await startGateway({ HOST: host });
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
});

const CHAT = '{"messages":[{"role":"user","content":"hi"}]}';
const CHUNK = `${CHAT.length.toString(16)}\r\n${CHAT}\r\n`;
const JSON_HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n';

test.each([
  ['a length', `Content-Length: ${CHAT.length}\r\n\r\n${CHAT}`],
  ['chunks', `Transfer-Encoding: chunked\r\n\r\n${CHUNK}0\r\n\r\n`],
])(
  'a caller that offers HTTP/2, as those in Java do, is answered; its body has %s',
  async (_how, rest) => {
    // Kludex/uvicorn#2722: others lose the body then.
    const { url, a } = await startBefore({ a: answers('hi') });
    const offer =
      'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
    const line = 'POST /v1/chat/completions HTTP/1.1';
    const answer = await exchange(url, `${line}\r\n${JSON_HEAD}${offer}${rest}`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(a.calls[0]?.json).toMatchObject({ messages: [{ content: 'hi' }] });
    expect(a.calls[0]?.headers).not.toHaveProperty('http2-settings');
  },
);

test('a caller that asks before it sends two megabytes, as those in Java do, may continue', async () => {
  const { url, a } = await startBefore({ a: answers('hi') });
  const headers = { 'content-type': 'application/json', expect: '100-continue' };
  const asked = request(`${url}/v1/chat/completions`, { method: 'POST', headers });
  asked.flushHeaders();
  await once(asked, 'continue');
  const content = 'x'.repeat(2 * 1024 * 1024);
  asked.end(JSON.stringify({ messages: [{ role: 'user', content }] }));
  const [{ statusCode }] = (await once(asked, 'response')) as [{ statusCode: number }];
  expect(statusCode).toBe(200);
  expect(a.calls[0]?.json).toMatchObject({ messages: [{ content }] });
});

test('a caller that sends a whole URL, as to a proxy, is answered', async () => {
  const { url } = await startBefore({ a: answers('hi') });
  const rest = `Connection: close\r\nContent-Length: ${CHAT.length}\r\n\r\n${CHAT}`;
  const line = 'POST http://localhost/v1/chat/completions?x=1 HTTP/1.1';
  expect(await exchange(url, `${line}\r\n${JSON_HEAD}${rest}`)).toMatch(/^HTTP\/1\.1 200 /);
});
