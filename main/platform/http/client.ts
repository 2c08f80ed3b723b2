import { type Clock, systemClock } from '../clock.ts';
import { createDistrust, type Distrust } from './distrust.ts';
import { PlainConnection, type PlainOrigin } from './http1-connection.ts';
import { createLazyClient } from './lazy-client.ts';
import type { HttpClient } from './types.ts';

/** For a connection attempt: a machine that is switched off does not even refuse it. */
const CONNECT_TIMEOUT_MS = 10_000;

interface ClientEdges {
  readonly clock: Clock;
  /** Called for an origin that has sent bytes nobody asked for, at most once in ten minutes. */
  readonly onUnasked: (origin: string) => void;
}

/**
 * Uses our own client for `http:` origins and undici for `https:`, which is loaded on first use. Connections to an
 * origin that has sent bytes nobody asked for are not kept for ten minutes.
 */
export function createHttpClient({
  clock = systemClock,
  onUnasked = () => {},
}: Partial<ClientEdges> = {}): HttpClient {
  const distrust = createDistrust(clock, onUnasked);
  const plain = createPlainClient(CONNECT_TIMEOUT_MS, distrust);
  const tls = createLazyClient(async () => {
    const { createTlsClient } = await import('./tls-client.ts');
    return createTlsClient(CONNECT_TIMEOUT_MS, distrust);
  });
  return {
    send: (request, listener) =>
      (request.origin.startsWith('http:') ? plain : tls).send(request, listener),
    dropIdle() {
      plain.dropIdle();
      tls.dropIdle();
    },
    close: async () => {
      await Promise.all([plain.close(), tls.close()]);
    },
  };
}

/**
 * The client for `http:` origins: engines on this machine and in the local network. Keeps any number of
 * connections, with one request at a time on each. It exists because a general client costs more time per
 * request; docs/decisions/own-http-client.md has the figures and when to drop it.
 */
function createPlainClient(connectTimeoutMs: number, distrust: Distrust): HttpClient {
  const origins = new Map<string, PlainOrigin>();

  function originAt(url: string): PlainOrigin {
    let origin = origins.get(url);
    if (origin === undefined) {
      origin = parseOrigin(url, distrust);
      origins.set(url, origin);
    }
    return origin;
  }

  return {
    send(request, listener) {
      const origin = originAt(request.origin);
      const kept = request.fresh ? undefined : origin.idle.pop();
      const connection = kept ?? new PlainConnection(origin, connectTimeoutMs);
      return connection.send(request, listener);
    },
    dropIdle() {
      for (const { idle } of origins.values()) closeAll(idle);
    },
    close() {
      for (const { open } of origins.values()) {
        for (const connection of open) connection.destroy();
      }
      return Promise.resolve();
    },
  };
}

/** Taken out first: a destroyed connection leaves the list only when its socket emits `close`. */
function closeAll(idle: PlainConnection[]): void {
  for (const connection of idle.splice(0)) connection.destroy();
}

function parseOrigin(url: string, distrust: Distrust): PlainOrigin {
  const { host, hostname, port } = new URL(url);
  const idle: PlainConnection[] = [];
  return {
    // An IPv6 address has brackets in a URL only.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 80 : Number(port),
    authority: host,
    idle,
    open: new Set(),
    isDistrusted: () => distrust.has(url),
    distrust() {
      distrust.mark(url);
      // What is on its way may come on another one.
      closeAll(idle);
    },
  };
}
