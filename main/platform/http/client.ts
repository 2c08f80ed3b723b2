import { PlainConnection, type PlainOrigin } from './http1-connection.ts';
import { createLazyClient } from './lazy-client.ts';
import type { HttpClient } from './types.ts';

/** For a connection attempt: a machine that is switched off does not even refuse it. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Uses our own client for `http:` origins and undici for `https:`, which is loaded on first use. */
export function createHttpClient(): HttpClient {
  const plain = createPlainClient(CONNECT_TIMEOUT_MS);
  const tls = createLazyClient(async () => {
    const { createTlsClient } = await import('./tls-client.ts');
    return createTlsClient(CONNECT_TIMEOUT_MS);
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
function createPlainClient(connectTimeoutMs: number): HttpClient {
  const origins = new Map<string, PlainOrigin>();

  function originAt(url: string): PlainOrigin {
    let origin = origins.get(url);
    if (origin === undefined) {
      origin = parseOrigin(url);
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
      for (const { idle } of origins.values()) {
        // Taken out first: a destroyed connection leaves the list only when its socket emits `close`.
        for (const connection of idle.splice(0)) connection.destroy();
      }
    },
    close() {
      for (const { open } of origins.values()) {
        for (const connection of open) connection.destroy();
      }
      return Promise.resolve();
    },
  };
}

function parseOrigin(url: string): PlainOrigin {
  const { host, hostname, port } = new URL(url);
  return {
    // An IPv6 address has brackets in a URL only.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 80 : Number(port),
    authority: host,
    idle: [],
    open: new Set(),
  };
}
