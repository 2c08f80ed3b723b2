import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import type { HttpClient, TransportFailure } from '../../../main/platform/http/types.ts';
import { startByteServer } from '../../support/byte-server.ts';
import { chance } from '../../support/chance.ts';

const answer = (text: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
const STRAY = answer('for somebody else');

let client: HttpClient;

const before = getCACertificates('default');
beforeAll(() => {
  const own = readFileSync(join(import.meta.dirname, '../../support/tls/agent.cert.pem'), 'utf8');
  setDefaultCACertificates([...before, own]);
});
afterAll(() => setDefaultCACertificates(before));
beforeEach(() => {
  client = createHttpClient();
});
afterEach(() => client.close());

/** A server that answers each request with its path, and may be made to say something unasked. */
async function startStraying(protocol: 'http' | 'https') {
  /** Those whose last request is answered. */
  const idle = new Set<Socket>();
  let behindNext = '';
  const { origin } = await startByteServer(protocol, (socket, n, head) => {
    if (n === 1) {
      // Or the kernel would keep what comes unasked until the next request is there.
      socket.setNoDelay(true);
      socket.on('close', () => idle.delete(socket));
    }
    socket.write(answer(/^GET (\S+)/.exec(head)?.[1] ?? '') + behindNext);
    behindNext = '';
    idle.add(socket);
  });
  return {
    origin,
    /** The next answer is followed by another one in the same packet. */
    answerTwice: () => void (behindNext = STRAY),
    stray(): void {
      for (const socket of idle) socket.write(STRAY);
    },
  };
}

type Outcome = { readonly text: string } | TransportFailure;

function ask(origin: string, path: string, fresh = false): Promise<Outcome> {
  return new Promise((resolve) => {
    let text = '';
    client.send(
      { method: 'GET', path, headers: [], body: null, fresh, origin },
      {
        onHead() {},
        onData: (piece) => void (text += piece.toString()),
        onEnd: () => resolve({ text }),
        // As every caller of the client does.
        onFailure: (failure) => resolve(failure.stale ? ask(origin, path, true) : failure),
      },
    );
  });
}

const nothing = () => Promise.resolve();
/** Where in a turn of the event loop the next requests are sent; by itself right as the last answers end. */
const PHASES: readonly (() => Promise<void>)[] = [
  nothing,
  () => new Promise((resolve) => setImmediate(resolve)),
  () => new Promise((resolve) => process.nextTick(resolve)),
  () => new Promise((resolve) => setTimeout(resolve, 0)),
];
/** When the unasked answers come: before or after a request is handed over, in the turn in which it is. */
const MOMENTS: readonly ((stray: () => void, send: () => void) => void)[] = [
  (_stray, send) => send(),
  (stray, send) => {
    stray();
    send();
  },
  (stray, send) => {
    send();
    stray();
  },
  (stray, send) => {
    send();
    queueMicrotask(stray);
  },
  (stray, send) => {
    send();
    process.nextTick(stray);
  },
];

test.each([
  ['http', 10_000],
  // Each connection that is given up costs a handshake.
  ['https', 500],
] as const)(
  'a server that answers unasked at any moment: over %s, in %i exchanges nobody gets another answer',
  async (protocol, most) => {
    const server = await startStraying(protocol);
    const next = chance(12);
    const below = (limit: number) => Math.floor(next() * limit);
    const wrong: { readonly path: string; readonly outcome: Outcome }[] = [];
    let strays = 0;
    let exchanges = 0;
    while (exchanges < most) {
      const at = below(MOMENTS.length);
      const paths = Array.from({ length: 1 + below(16) }, (_, index) => `/${exchanges + index}`);
      exchanges += paths.length;
      if (below(4) === 0) server.answerTwice();
      await PHASES[below(PHASES.length)]?.();
      const asked: Promise<Outcome>[] = [];
      const send = () => void asked.push(...paths.map((path) => ask(server.origin, path)));
      MOMENTS[at]?.(() => {
        strays += 1;
        server.stray();
      }, send);
      const outcomes = await Promise.all(asked);
      for (const [index, path] of paths.entries()) {
        const outcome = outcomes[index];
        if (outcome && (!('text' in outcome) || outcome.text !== path))
          wrong.push({ path, outcome });
      }
    }
    expect(wrong).toEqual([]);
    expect(strays).toBeGreaterThan(most / 20);
  },
  // Two seconds on a machine of its own.
  60_000,
);
