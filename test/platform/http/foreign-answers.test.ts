import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import type { HttpClient, TransportFailure } from '../../../main/platform/http/types.ts';
import { startByteServer, trustOwnCertificate } from '../../support/byte-server.ts';
import { createManualClock, type ManualClock } from '../../support/clock.ts';

const answer = (text: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
const STRAY = answer('for somebody else');
const TEN_MINUTES_MS = 600_000;

let client: HttpClient;
let clock: ManualClock;

trustOwnCertificate();
beforeEach(() => {
  clock = createManualClock();
  client = createHttpClient({ clock });
});
afterEach(() => client.close());

type Outcome = { readonly text: string } | TransportFailure;

function ask(origin: string, path: string): Promise<Outcome> {
  return new Promise((resolve) => {
    let text = '';
    client.send(
      { method: 'GET', path, headers: [], body: null, origin },
      {
        onHead() {},
        onData: (piece) => void (text += piece.toString()),
        onEnd: () => resolve({ text }),
        onFailure: resolve,
      },
    );
  });
}

/** Answers a request with its path: the first with `behind` behind it, those on a kept connection with `before` before. */
async function startForeign(
  protocol: 'http' | 'https',
  { behind = '', before: ahead = '' }: { readonly behind?: string; readonly before?: string } = {},
) {
  let answers = 0;
  const closed = Promise.withResolvers<void>();
  const server = await startByteServer(protocol, (socket, n, head) => {
    answers += 1;
    socket.setNoDelay(true);
    socket.once('close', () => closed.resolve());
    const text = answer(/^GET (\S+)/.exec(head)?.[1] ?? '');
    socket.write((n === 1 ? '' : ahead) + text + (answers === 1 ? behind : ''));
  });
  /** Resolves once the first connection is closed. */
  return { ...server, closed: closed.promise };
}

/** Asks one after the other, as callers do who do not know of each other. */
async function askOneByOne(origin: string, paths: readonly string[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const path of paths) {
    outcomes.push(await ask(origin, path));
    for (let turns = 0; turns < 10; turns += 1) await turn();
  }
  return outcomes;
}

const PATHS = ['/1', '/2', '/3', '/4'];
const ANSWERS = PATHS.map((text) => ({ text }));

describe.each(['http', 'https'] as const)('over %s', (protocol) => {
  test.each([
    ['on an idle connection', '', STRAY],
    ['behind an answer', STRAY, ''],
  ])(
    `an unrequested answer %s over ${protocol} reaches nobody else’s request later`,
    async (_where, behind, onIdle) => {
      const server = await startForeign(protocol, { behind, before: STRAY });
      expect(await askOneByOne(server.origin, ['/0'])).toEqual([{ text: '/0' }]);
      server.connections[0]?.write(onIdle);
      await server.closed;
      expect(await askOneByOne(server.origin, PATHS)).toEqual(ANSWERS);
      expect(server.connections).toHaveLength(1 + PATHS.length);
    },
  );

  test(`an unrequested answer over ${protocol} is reported once, and connections are kept again after ten minutes`, async () => {
    client.close();
    const told: string[] = [];
    client = createHttpClient({ clock, onUnasked: (origin) => void told.push(origin) });
    const [server, other] = [
      await startForeign(protocol, { behind: STRAY }),
      await startForeign(protocol),
    ];
    await ask(server.origin, '/0');
    await server.closed;
    clock.advance(TEN_MINUTES_MS - 1);
    await askOneByOne(server.origin, PATHS);
    expect(server.connections).toHaveLength(1 + PATHS.length);
    await askOneByOne(other.origin, PATHS);
    expect(other.connections).toHaveLength(1);
    clock.advance(1);
    await askOneByOne(server.origin, PATHS);
    expect(server.connections).toHaveLength(2 + PATHS.length);
    expect(told).toEqual([server.origin]);
  });

  test(`a 408 on an idle ${protocol} connection does not end the keeping of connections`, async () => {
    const server = await startForeign(protocol);
    await askOneByOne(server.origin, ['/0']);
    server.connections[0]?.end('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n');
    await server.closed;
    expect(await askOneByOne(server.origin, PATHS)).toEqual(ANSWERS);
    expect(server.connections).toHaveLength(2);
  });
});
