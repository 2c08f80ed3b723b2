import { type Clock, systemClock } from '../clock.ts';
import { bareHost, portOf } from '../network-guard.ts';
import { createDistrust, type Distrust } from './distrust.ts';
import { closeAll, HttpConnection, type OriginPool } from './http1-connection.ts';
import type { HttpClient } from './types.ts';

/** For a connection attempt: a machine that is switched off does not even refuse it. */
const CONNECT_TIMEOUT_MS = 10_000;

/** With this many, those without a connection are forgotten: machines change their addresses. */
const MAX_ORIGINS = 1000;

interface ClientEdges {
  readonly clock: Clock;
  /** Called for an origin that has sent bytes nobody asked for, at most once in ten minutes. */
  readonly onUnasked: (origin: string) => void;
}

/**
 * Keeps any number of connections, with one request at a time on each. Our own, because a general client costs more time
 * per request and does not show what comes unasked; docs/contributing/decisions/own-http-client.md has the figures and
 * when to drop it. Connections to an origin that has sent bytes nobody asked for are not kept for ten minutes.
 */
export function createHttpClient({
  clock = systemClock,
  onUnasked = () => {},
}: Partial<ClientEdges> = {}): HttpClient {
  const distrust = createDistrust(clock, onUnasked);
  const origins = new Map<string, OriginPool>();

  function originAt(url: string): OriginPool {
    let origin = origins.get(url);
    if (origin === undefined) {
      if (origins.size >= MAX_ORIGINS) forgetUnconnected();
      origin = parseOrigin(url, distrust);
      origins.set(url, origin);
    }
    return origin;
  }

  function forgetUnconnected(): void {
    for (const [url, { open }] of origins) if (open.size === 0) origins.delete(url);
  }

  return {
    send(request, listener) {
      const origin = originAt(request.origin);
      const kept = request.fresh ? undefined : origin.idle.pop();
      const connection = kept ?? new HttpConnection(origin, CONNECT_TIMEOUT_MS);
      return connection.send(request, listener);
    },
    dropIdle() {
      for (const { idle } of origins.values()) closeAll(idle);
    },
    close() {
      for (const { open } of origins.values()) {
        for (const connection of open) connection.destroy();
      }
    },
  };
}

function parseOrigin(url: string, distrust: Distrust): OriginPool {
  const at = new URL(url);
  return {
    url,
    isTls: at.protocol === 'https:',
    host: bareHost(at.hostname),
    port: portOf(at),
    authority: at.host,
    idle: [],
    open: new Set(),
    distrust,
    session: undefined,
  };
}
