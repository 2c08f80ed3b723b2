import { PlainConnection, type PlainOrigin } from './http1-connection.ts';
import type { HttpClient } from './types.ts';

/**
 * Makes the client for `http:` origins: engines on this machine and in the house, where what a request
 * costs is what a user waits for. A pool without limit, one request at a time on each connection.
 * Written for the relay because a general client does more than a relay needs: figures, and what would end
 * it, in docs/decisions/own-http-client.md.
 */
export function createPlainClient(connectTimeoutMs: number): HttpClient {
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
    // An IPv6 address stands in brackets in an address, and without them everywhere else.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 80 : Number(port),
    authority: host,
    idle: [],
    open: new Set(),
  };
}
