import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createGuardedServer } from '../../../main/platform/http/guarded-server.ts';
import { readBody } from '../../../main/platform/http/bodies.ts';
import { createManualClock } from '../../support/clock.ts';
import { listening } from '../../support/listening.ts';
import { liveBytes } from '../../support/live-bytes.ts';
import { openWire } from '../../support/wire.ts';

type Options = NonNullable<Parameters<typeof createGuardedServer>[2]>;

async function serve(listener: RequestListener, options: Options = {}) {
  const clock = createManualClock();
  const server: Server = createGuardedServer(listener, clock, options);
  const port = await listening(server);
  onTestFinished(() => server.closeAllConnections());
  return { server, clock, url: `http://127.0.0.1:${port}`, port };
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const GET_BEGUN = 'GET / HTTP/1.1\r\nHost: a\r\n';
const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

const readWhole: RequestListener = (req, res) => {
  void readBody(req, { maxBytes: 10_000_000 }).then((read) =>
    res.end(typeof read === 'string' ? read : `${read.length} bytes`),
  );
};

test('a connection is closed as soon as bad HTTP was answered, though the caller stays', async () => {
  const { port } = await serve((_req, res) => void res.end());
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.write('nonsense\r\n\r\n');
  let text = '';
  socket.on('data', (part: Buffer) => (text += part.toString()));
  await new Promise((resolve) => socket.on('end', resolve));
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  const failed = new Promise<NodeJS.ErrnoException>((resolve) => socket.on('error', resolve));
  // Only a connection that is closed whole answers with a reset.
  const writing = setInterval(() => socket.write('x'), 1);
  onTestFinished(() => clearInterval(writing));
  expect((await failed).code).toMatch(/EPIPE|ECONNRESET/);
});

test('a caller that reads nothing loses the connection, however busily it sends, and one that waits for its answer does not', async () => {
  const STALLED_MS = 50;
  const large = Buffer.alloc(64 * 1024 * 1024);
  let waiting: () => void = () => {};
  const { url } = await serve(
    (req, res) => {
      if (req.url === '/') res.end(large);
      else waiting = () => void res.end('late');
    },
    { stalledMs: STALLED_MS },
  );
  const patient = await openWire(url);
  patient.send('GET /waits HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  const deaf = await openWire(url, false);
  deaf.pause();
  deaf.send(GET);
  // The server has closed when a new write is reset; the paused caller cannot see an end.
  const sending = setInterval(() => deaf.send('x'), 2);
  onTestFinished(() => clearInterval(sending));
  await expect.poll(() => deaf.isBroken(), { timeout: 10_000 }).toBe(true);
  waiting();
  expect(await patient.closed).toContain('late');
});

test.each([
  ['nothing comes', '', '', /^$/],
  ['a head never ends', GET_BEGUN, 'x: y\r\n', /^HTTP\/1\.1 408 /],
  ['a body never ends', CHUNKED, '1\r\na\r\n', /^HTTP\/1\.1 408 /],
  ['a head is huge', `${GET_BEGUN}x: ${'y'.repeat(40_000)}`, '', /^HTTP\/1\.1 431 /],
])(
  'a connection on which %s is closed, however busy it stays',
  async (_what, sent, more, answer) => {
    const { url } = await serve(readWhole, { headMs: 60, requestMs: 120 });
    const slow = await openWire(url);
    slow.send(sent);
    const writing = setInterval(() => more !== '' && slow.send(more), 20);
    onTestFinished(() => clearInterval(writing));
    expect(await slow.closed).toMatch(answer);
  },
);

test('a head has 15 s to come and a request 5 minutes, on at most 2048 connections', async () => {
  const { server } = await serve((_req, res) => void res.end());
  const { headersTimeout, requestTimeout, maxConnections } = server;
  expect({ headersTimeout, requestTimeout, maxConnections }).toEqual({
    headersTimeout: 15_000,
    requestTimeout: 300_000,
    maxConnections: 2048,
  });
});

test('a body of 300,000 chunks of one byte is accepted, and costs no more memory than its bytes', async () => {
  const { server, url } = await serve(readWhole);
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const caller = await openWire(url);
  const [socket] = await accepted;
  const before = liveBytes();
  const chunks = '1\r\na\r\n'.repeat(10_000);
  caller.send(CHUNKED);
  for (let n = 0; n < 30; n += 1) caller.send(chunks);
  await expect.poll(() => socket.bytesRead).toBe(CHUNKED.length + 30 * chunks.length);
  expect(liveBytes() - before).toBeLessThan(10 * 1024 * 1024);
  caller.send('0\r\n\r\n');
  await expect(caller.received('300000 bytes')).resolves.toBeUndefined();
});

test('at most 64 unanswered requests of one read are taken, and the connection is then closed', async () => {
  const taken: string[] = [];
  const { url } = await serve((req) => void taken.push(req.url ?? ''));
  const caller = await openWire(url);
  caller.send(GET.repeat(1500));
  expect(await caller.closed).toBe('');
  expect(taken).toHaveLength(64);
});
