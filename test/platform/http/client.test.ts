import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import type {
  HttpClient,
  HttpRequest,
  TransportFailure,
} from '../../../main/platform/http/types.ts';
import { startByteServer, trustOwnCertificate } from '../../support/byte-server.ts';
import { createManualClock } from '../../support/clock.ts';
import { liveBytes } from '../../support/live-bytes.ts';
import { REFUSED_URL } from '../../support/upstream.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const HI = `${OK}content-length: 2\r\n\r\nhi`;

let client: HttpClient;

/** Sends a request; what is heard of its answer is in `status` and `text`. */
function send(origin: string, request: Partial<HttpRequest> = {}) {
  const { promise: head, resolve: onHead } = Promise.withResolvers<void>();
  const { promise: end, resolve: onEnd } = Promise.withResolvers<TransportFailure | null>();
  const said = { status: 0, text: '' };
  const exchange = client.send(
    { method: 'GET', path: '/x?y=z', headers: [], body: null, origin, ...request },
    {
      onHead(status) {
        said.status = status;
        onHead();
      },
      onData: (piece) => void (said.text += piece.toString()),
      onEnd: () => onEnd(null),
      onFailure: onEnd,
    },
  );
  /** `head` resolves once it is there, `end` with the failure, or with null at a good end. */
  return Object.assign(said, { exchange, head, end });
}

/** One request to its end, with what went wrong; its connection is kept. */
async function sendFirst(origin: string): Promise<TransportFailure | null> {
  const failure = await send(origin).end;
  await nextTurn();
  return failure;
}

const gone = (socket: { once(name: 'close', on: () => void): unknown; destroyed: boolean }) =>
  socket.destroyed ? Promise.resolve() : new Promise<void>((done) => socket.once('close', done));

beforeEach(() => {
  client = createHttpClient();
});
afterEach(() => client.close());

trustOwnCertificate();

describe.each(['http', 'https'] as const)('over %s', (protocol) => {
  test(`one request after the other goes over one ${protocol} connection`, async () => {
    const server = await startByteServer(protocol, (socket) => socket.write(HI));
    for (let n = 0; n < 3; n += 1) expect(await sendFirst(server.origin)).toBeNull();
    expect(server.connections).toHaveLength(1);
  });

  test.each([
    ['says that it closes', `${OK}connection: close\r\ncontent-length: 2\r\n\r\nhi`],
    ['goes on behind its end', `${HI}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`],
    ['is kept for a second at most', `${OK}keep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nhi`],
  ])(`a ${protocol} connection whose answer %s serves no other request`, async (_says, answer) => {
    const server = await startByteServer(protocol, (socket, n) => {
      if (n === 1) socket.write(answer);
    });
    expect(await sendFirst(server.origin)).toBeNull();
    expect(await send(server.origin).end).toBeNull();
    expect(server.connections).toHaveLength(2);
  });

  test(`a kept ${protocol} connection that closes before any byte of the answer is replaced by a new one`, async () => {
    const server = await startByteServer(protocol, (socket, n) => {
      if (n === 1) socket.write(HI);
      else socket.destroy();
    });
    await sendFirst(server.origin);
    const again = send(server.origin);
    expect([await again.end, again.text]).toEqual([null, 'hi']);
    expect(server.connections).toHaveLength(2);
  });

  test(`a new ${protocol} connection that closes before any byte is not replaced`, async () => {
    const server = await startByteServer(protocol, (socket) => socket.destroy());
    expect(await send(server.origin).end).toMatchObject({ kind: 'unreachable' });
    expect(server.connections).toHaveLength(1);
  });

  test(`a kept ${protocol} connection that closes inside the head is not replaced`, async () => {
    const server = await startByteServer(protocol, (socket, n) => {
      if (n === 1) socket.write(HI);
      else socket.end('HTTP/1.1 200 O');
    });
    await sendFirst(server.origin);
    expect(await send(server.origin).end).toMatchObject({ kind: 'unreachable' });
    expect(server.connections).toHaveLength(1);
  });

  test(`a 408 replaces a kept ${protocol} connection, and is an answer on a new one`, async () => {
    const timedOut =
      'HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';
    const server = await startByteServer(protocol, (socket, n) => {
      socket.write(n === 1 && server.connections.length === 1 ? HI : timedOut);
    });
    await sendFirst(server.origin);
    const again = send(server.origin);
    expect([await again.end, again.status]).toEqual([null, 408]);
    expect(server.connections).toHaveLength(2);
  });

  test(`an answer over ${protocol} that ends too early is cut`, async () => {
    const server = await startByteServer(protocol, (socket) =>
      socket.end(`${OK}content-length: 5\r\n\r\nhi`),
    );
    const heard = send(server.origin);
    expect(await heard.end).toMatchObject({ kind: 'cut' });
    expect(heard.text).toBe('hi');
  });

  test(`an abort closes the ${protocol} connection, and no further event comes`, async () => {
    const server = await startByteServer(protocol, (socket) =>
      socket.write(`${OK}content-length: 9\r\n\r\nhi`),
    );
    const heard = send(server.origin);
    await heard.head;
    heard.exchange.abort();
    const [socket] = server.connections;
    if (socket) await gone(socket);
    expect(await Promise.race([heard.end, Promise.resolve('silent')])).toBe('silent');
  });

  test(`a pause over ${protocol} holds the sender back, and nothing is lost`, async () => {
    const bytes = 32 * 1024 * 1024;
    const sent = { all: false };
    const server = await startByteServer(protocol, (socket) => {
      socket.write(`${OK}content-length: ${bytes}\r\n\r\n`);
      socket.write(Buffer.alloc(bytes, 'x'), () => (sent.all = true));
    });
    const heard = send(server.origin);
    await heard.head;
    heard.exchange.pause();
    const other = await startByteServer(protocol, (socket) => socket.write(HI));
    for (let n = 0; n < 5; n += 1) await send(other.origin).end;
    expect(sent.all).toBe(false);
    heard.exchange.resume();
    expect(await heard.end).toBeNull();
    expect(heard.text.length).toBe(bytes);
  });

  test(`idle ${protocol} connections are dropped on request, and running requests continue`, async () => {
    let whole = () => {};
    const server = await startByteServer(protocol, (socket, _n, head) => {
      if (!head.startsWith('GET /slow')) socket.write(HI);
      else {
        socket.write(`${OK}content-length: 2\r\n\r\nh`);
        whole = () => socket.write('i');
      }
    });
    const slow = send(server.origin, { path: '/slow' });
    await slow.head;
    await sendFirst(server.origin);
    const [, kept] = server.connections;
    if (kept === undefined) throw new Error('there was no second connection');
    const left = gone(kept);
    client.dropIdle();
    // Sent before the closed connection has told of it.
    expect(await send(server.origin).end).toBeNull();
    await left;
    expect(server.connections).toHaveLength(3);
    whole();
    expect(await slow.end).toBeNull();
    expect(slow.text).toBe('hi');
  });

  test(`the end of the client ends its running requests over ${protocol}`, async () => {
    const server = await startByteServer(protocol, (socket) => socket.write(OK));
    const heard = send(server.origin);
    const waiting = send(server.origin);
    await nextTurn();
    client.close();
    expect(await heard.end).toMatchObject({ kind: 'unreachable' });
    expect(await waiting.end).toMatchObject({ kind: 'unreachable' });
    await Promise.all(server.connections.map(gone));
  });

  test(`one turn of the event loop reads at most 128 KiB of an ${protocol} connection, however much has arrived`, async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 'x');
    const server = await startByteServer(protocol, (socket) => {
      socket.write(`${OK}content-length: ${body.length}\r\n\r\n`);
      socket.write(body);
    });
    const heard = send(server.origin);
    await heard.head;
    heard.exchange.pause();
    // So that the sockets on the way fill up.
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    heard.exchange.resume();
    let most = 0;
    for (let taken = heard.text.length; taken < body.length; taken = heard.text.length) {
      await nextTurn();
      most = Math.max(most, heard.text.length - taken);
    }
    expect(await heard.end).toBeNull();
    expect(most).toBeLessThanOrEqual(128 * 1024);
  });
});

test.each([
  [1000, 2],
  [1001, 1],
])(
  'a kept connection that breaks %i ms after the request was written makes %i connections',
  async (ms, made) => {
    const clock = createManualClock();
    client.close();
    client = createHttpClient({ clock });
    const server = await startByteServer('http', (socket, n) => {
      if (n === 1) socket.write(HI);
      else {
        clock.advance(ms);
        socket.destroy();
      }
    });
    await sendFirst(server.origin);
    await send(server.origin).end;
    expect(server.connections).toHaveLength(made);
  },
);

test('the time for which a connection is kept does not end a call on it, and begins again after the call', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const answer = `${OK}keep-alive: timeout=2\r\ncontent-length: 2\r\n\r\nhi`;
  const asked = Promise.withResolvers<Socket>();
  const server = await startByteServer('http', (socket, n) => {
    if (n === 2) asked.resolve(socket);
    else socket.write(answer);
  });
  expect(await sendFirst(server.origin)).toBeNull();
  const second = send(server.origin);
  const kept = await asked.promise;
  vi.advanceTimersByTime(60_000);
  kept.write(answer);
  expect(await second.end).toBeNull();
  vi.advanceTimersByTime(999);
  await nextTurn();
  expect(await sendFirst(server.origin)).toBeNull();
  vi.advanceTimersByTime(1000);
  await gone(kept);
  expect(server.connections).toHaveLength(1);
});

test('a client keeps nothing of origins that it has no connection to', async () => {
  // One refused port at many addresses of this machine, a hundred at a time; kept, the last 6,000 would take 4 MB.
  const { port } = new URL(REFUSED_URL);
  const meet = async (from: number, to: number) => {
    for (let first = from; first < to; first += 100) {
      const each = Array.from({ length: 100 }, (_, n) => {
        const at = first + n;
        return send(`http://127.1.${Math.floor(at / 250)}.${(at % 250) + 1}:${port}`).end;
      });
      await Promise.all(each);
    }
    await nextTurn();
  };
  await meet(0, 1500);
  const atFirst = liveBytes();
  await meet(1500, 7500);
  expect(liveBytes() - atFirst).toBeLessThan(2 * 1024 * 1024);
});

test('an upstream whose certificate has expired is unreachable, and gets no byte of a request', async () => {
  let heads = 0;
  const server = await startByteServer('https', () => void (heads += 1), 'expired.cert.pem');
  const { exchange, end } = send(server.origin, { method: 'POST', body: Buffer.from('secret') });
  const detail = expect.stringContaining('its certificate has expired') as unknown;
  expect(await end).toEqual({ kind: 'unreachable', detail });
  const open = server.connections.filter(({ destroyed }) => !destroyed);
  await Promise.all(open.map((socket) => once(socket, 'close')));
  expect([heads, exchange.hasLeft()]).toEqual([0, false]);
});
