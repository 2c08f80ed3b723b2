import { createServer, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startByteServer, trustOwnCertificate } from '../support/byte-server.ts';
import { chat, HELLO } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import { answers, completion, startUpstream } from '../support/upstream.ts';

trustOwnCertificate();
beforeEach(() => {
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'no_proxy'])
    vi.stubEnv(name, undefined);
});
afterEach(() => vi.unstubAllEnvs());

/** A proxy as companies have one: nobody but it knows the names of the outside. All of them are at `port`. */
async function startProxy(port: number, isAllowed = true) {
  const seen: { readonly asked: string; readonly authorization: string | undefined }[] = [];
  const note = ({ method, url, headers }: IncomingMessage) =>
    void seen.push({ asked: `${method} ${url}`, authorization: headers['proxy-authorization'] });
  const server = createServer((req, res) => {
    note(req);
    const { pathname } = new URL(req.url ?? '');
    const { method, headers } = req;
    const onward = request({ port, path: pathname, method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    req.pipe(onward);
  });
  server.on('connect', (req: IncomingMessage, socket, head) => {
    note(req);
    socket.on('error', () => {});
    if (!isAllowed) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const onward = connect({ port }, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('close', () => onward.destroy());
  });
  return { url: `127.0.0.1:${await listening(server)}`, seen };
}

/** Answers chats and everything else that a gateway asks. */
function startTlsUpstream() {
  const body = JSON.stringify(completion('from outside'));
  return startByteServer('https', (socket, _n, head) => {
    socket.write(
      head.startsWith('POST')
        ? `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
        : 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n',
    );
  });
}

const portOf = (url: string) => Number(new URL(url).port);

test('an https upstream is reached through the proxy of HTTPS_PROXY, over one tunnel for two requests', async () => {
  const upstream = await startTlsUpstream();
  const proxy = await startProxy(portOf(upstream.origin));
  vi.stubEnv('HTTPS_PROXY', `http://staff:secret@${proxy.url}`);
  const { url } = await startGateway({ HOSTED_A_BASE_URL: 'https://agent.test/v1' });
  for (let n = 0; n < 2; n += 1) {
    const answer = await chat(url, HELLO);
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('from outside')]);
  }
  const authorization = `Basic ${btoa('staff:secret')}`;
  expect(proxy.seen).toEqual([{ asked: 'CONNECT agent.test:443', authorization }]);
});

test('an http upstream is reached through the proxy of HTTP_PROXY, which may leave its scheme out', async () => {
  const upstream = await startUpstream(answers('from outside'));
  const proxy = await startProxy(portOf(upstream.url));
  vi.stubEnv('HTTP_PROXY', proxy.url);
  const { url } = await startGateway({ HOSTED_A_BASE_URL: 'http://outside.test/v1' });
  const answer = await chat(url, HELLO);
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('from outside')]);
  const asked = 'POST http://outside.test/v1/chat/completions';
  expect(proxy.seen.map((each) => each.asked)).toContain(asked);
  expect(upstream.calls[0]?.headers.host).toBe('outside.test');
});

test.each([
  ['the engine of LOCAL_ENGINE_URL', 'LOCAL_ENGINE_URL', '0.0.0.0', ''],
  ['an upstream on this machine', 'HOSTED_A_BASE_URL', '127.0.0.1', ''],
  ['an upstream that NO_PROXY names', 'HOSTED_A_BASE_URL', '0.0.0.0', 'elsewhere.test,0.0.0.0'],
])('%s is reached without the proxy', async (_what, name, host, noProxy) => {
  const upstream = await startUpstream(answers('from near'));
  const proxy = await startProxy(portOf(upstream.url));
  vi.stubEnv('HTTP_PROXY', proxy.url);
  vi.stubEnv('NO_PROXY', noProxy);
  const { url } = await startGateway({ [name]: `http://${host}:${portOf(upstream.url)}/v1` });
  expect((await chat(url, HELLO)).status).toBe(200);
  expect(proxy.seen).toEqual([]);
});
