import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { markProved, maxConnections } from '../../../main/platform/http/guarded-server.ts';
import { createGuardedServer } from '../../../main/platform/http/guarded-server.ts';
import { readBody, MeteredRequest } from '../../../main/platform/http/server.ts';
import { createManualClock } from '../../support/clock.ts';
import { listening } from '../../support/listening.ts';
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
const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

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

test('a body that comes fast leaves others their turn after each read, and comes whole', async () => {
  const bytes = 16 * 1024 * 1024;
  const seen = { all: 0, most: 0 };
  const { port } = await serve((req, res) => {
    let now = 0;
    req.on('data', (chunk: Buffer) => {
      if (now === 0)
        setImmediate(() => {
          seen.most = Math.max(seen.most, now);
          now = 0;
        });
      now += chunk.length;
      seen.all += chunk.length;
    });
    req.on('end', () => res.end('the answer'));
  });
  const socket = connect({ host: '127.0.0.1', port });
  onTestFinished(() => void socket.destroy());
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`);
  socket.write(Buffer.alloc(bytes));
  for await (const part of socket) if (String(part).includes('the answer')) break;
  expect(seen.all).toBe(bytes);
  // The read that begins with the head, and one more.
  expect(seen.most).toBeLessThanOrEqual(2 * 64 * 1024);
});

test('a caller that has closed its sending half gets its answer', async () => {
  const { port } = await serve((req, res) => {
    req.resume();
    // The probes come first.
    req.socket.on('end', () => setTimeout(() => res.end('the answer'), 50));
  });
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.end(GET);
  let text = '';
  socket.on('data', (part: Buffer) => (text += part.toString()));
  await new Promise((resolve) => socket.on('close', resolve));
  expect(text).toMatch(/^(HTTP\/1\.1 102 Processing\r\n\r\n)+HTTP\/1\.1 200 OK\r\n/);
  expect(text).toContain('the answer');
});

test('a caller that is gone is noticed before anything was answered', async () => {
  let arrived: () => void = () => {};
  let closed: () => void = () => {};
  const arrival = new Promise<void>((resolve) => (arrived = resolve));
  const closing = new Promise<void>((resolve) => (closed = resolve));
  const { url } = await serve((_req, res) => {
    res.on('close', closed);
    arrived();
  });
  const caller = await openWire(url);
  caller.send(GET);
  await arrival;
  caller.leave();
  await expect(closing).resolves.toBeUndefined();
});

test('a caller that does not read its answer loses the connection, and one that waits for it does not', async () => {
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
  await expect
    .poll(() => {
      deaf.send('x');
      return deaf.isBroken();
    })
    .toBe(true);
  waiting();
  expect(await patient.closed).toContain('late');
});

/** Takes nothing of its large answer, and goes on sending what is no request. */
async function deafCaller(options: Options) {
  const bad: Socket[] = [];
  const { server, url } = await serve(
    (_req, res) => res.end(Buffer.alloc(64 * 1024 * 1024)),
    options,
  );
  server.on('clientError', (_error, socket) => bad.push(socket as Socket));
  const deaf = await openWire(url, false);
  deaf.pause();
  deaf.send(GET);
  const sending = setInterval(() => deaf.send('x'), 2);
  onTestFinished(() => clearInterval(sending));
  return { deaf, bad };
}

test('a caller that reads nothing loses the connection, however busily it sends', async () => {
  const { deaf } = await deafCaller({ stalledMs: 200 });
  await expect.poll(() => deaf.isBroken(), { timeout: 10_000 }).toBe(true);
});

test('a caller that goes on sending bad HTTP costs one listener', async () => {
  const { bad } = await deafCaller({});
  await expect.poll(() => bad.length, { timeout: 10_000 }).toBeGreaterThan(3);
  expect(bad[0]?.listenerCount('finish')).toBe(1);
});

test.each([
  ['nothing comes', '', /^$/],
  ['a head never ends', 'GET / HTTP/1.1\r\nHost: a\r\n', /^HTTP\/1\.1 408 /],
])('a connection on which %s is closed, however busily it goes on', async (_what, sent, answer) => {
  const { url } = await serve((_req, res) => void res.end(), { headMs: 60 });
  const slow = await openWire(url);
  slow.send(sent);
  const writing = setInterval(() => sent !== '' && slow.send('x: y\r\n'), 20);
  onTestFinished(() => clearInterval(writing));
  expect(await slow.closed).toMatch(answer);
});

test('a head has 15 s to come, as docs/understand/tested.md says', async () => {
  const { server } = await serve((_req, res) => void res.end());
  expect(server.headersTimeout).toBe(15_000);
});

test('the oldest idle connection without a key closes when its address is over the limit', async () => {
  const pending: (() => void)[] = [];
  const { url } = await serve(
    (req, res) => {
      if (req.url === '/let-in') markProved(req.socket);
      if (req.url === '/busy') pending.push(() => void res.end('done'));
      else res.end('ok');
    },
    { unproved: { remote: 0, loopback: 2 } },
  );
  const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  const letIn = await openWire(url);
  letIn.send(ask('/let-in'));
  await letIn.received('ok');
  const busy = await openWire(url);
  busy.send(ask('/busy'));
  await vi.waitFor(() => expect(pending).toHaveLength(1));
  const idle = await openWire(url);
  idle.send(ask('/'));
  await idle.received('ok');
  const third = await openWire(url);
  await idle.closed;
  third.send(ask('/'));
  await third.received('ok');
  for (const answer of pending) answer();
  await busy.received('done');
  letIn.send(ask('/second'));
  await letIn.received('200 OK');
});

test('at most 64 unanswered requests of one read are taken, and the connection is then closed', async () => {
  const taken: string[] = [];
  const { url } = await serve((req) => void taken.push(req.url ?? ''));
  const caller = await openWire(url);
  caller.send(GET.repeat(1500));
  expect(await caller.closed).toBe('');
  expect(taken).toHaveLength(64);
});

test('64 requests of one read are answered, and those of the next read after them', async () => {
  const { url } = await serve((_req, res) => void res.end('whole'));
  const caller = await openWire(url);
  for (const last of ['first', 'second']) {
    caller.send(GET.repeat(63) + GET.replace('/', `/${last}`));
    await caller.received('whole');
  }
  caller.send(GET.replace('Host: a', 'Host: a\r\nConnection: close'));
  expect((await caller.closed).match(/whole/g)).toHaveLength(129);
});

test('only the first 256 tiny chunks of a body are accepted, even if one read brings thousands', async () => {
  const pushed = vi.spyOn(MeteredRequest.prototype, 'push');
  onTestFinished(() => pushed.mockRestore());
  const { url, clock } = await serve((req, res) => {
    void readBody(req, { maxBytes: 1e6, clock }).then((read) => res.end(read));
  });
  const caller = await openWire(url);
  caller.send(CHUNKED + '1\r\na\r\n'.repeat(10_000));
  expect(await caller.closed).toContain('tiny_pieces');
  expect(pushed.mock.calls.length).toBeLessThan(300);
  // Its parser serves the next connection as any other.
  const next = await openWire(url);
  next.send(`${CHUNKED}5\r\nhello\r\n0\r\n\r\n`);
  await next.received('hello');
});

test('a body in small chunks is taken where its chunks are of a usual size on average', async () => {
  const { url, clock } = await serve((req, res) => {
    void readBody(req, { maxBytes: 1e6, clock }).then((read) =>
      res.end(typeof read === 'string' ? read : `${read.length} bytes`),
    );
  });
  const small = await openWire(url);
  small.send(`${CHUNKED}${'1\r\na\r\n'.repeat(200)}0\r\n\r\n`);
  await expect(small.received('200 bytes')).resolves.toBeUndefined();
  const many = await openWire(url);
  many.send(`${CHUNKED}${`10\r\n${'a'.repeat(16)}\r\n`.repeat(1000)}0\r\n\r\n`);
  await expect(many.received('16000 bytes')).resolves.toBeUndefined();
});

test('callers cannot take all descriptors of the process', async () => {
  const { server } = await serve(() => {});
  const max = maxConnections();
  expect(server.maxConnections).toBe(max ?? undefined);
  expect(max ?? 1).toBeGreaterThan(0);
});
