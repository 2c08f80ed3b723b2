import { type Clock, systemClock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { Call } from './call.ts';
import { Connection, type Origin, type Proxies } from './connection.ts';
import { isLoopbackHost } from './addresses.ts';
import type { HttpClient, HttpRequest } from './types.ts';

/** Beyond this many, those without a connection are forgotten: machines change their addresses. */
const MAX_ORIGINS = 1000;
/** Longer than what an origin that sends bytes nobody asked for still has on its way. */
const DISTRUST_MS = 600_000;

interface ClientEdges {
  readonly clock: Clock;
  /** Called for an origin that has sent bytes nobody asked for, at most once in ten minutes. */
  readonly onUnasked: (origin: string) => void;
}

/**
 * Keeps any number of connections, with one request at a time on each, and each is a client of undici: its own pool hands
 * a connection on without a sign of what has come on it. Connections to an origin that has sent bytes nobody asked for
 * are not kept for ten minutes.
 */
export function createHttpClient({
  clock = systemClock,
  onUnasked = () => {},
}: Partial<ClientEdges> = {}): HttpClient {
  const origins = new Map<string, Origin>();
  let isClosed = false;

  function originOf({ origin: url, address, proxied = false }: HttpRequest): Origin {
    const isProxied = proxied && !isLoopbackHost(new URL(url).hostname);
    const proxies = isProxied ? environmentProxies() : null;
    let key = proxies === null ? url : `${url} through a proxy`;
    if (address !== undefined) key += ` at ${address}`;
    let origin = origins.get(key);
    if (origin === undefined) {
      if (origins.size >= MAX_ORIGINS) forgetUnconnected();
      origin = {
        url,
        address,
        proxies,
        idle: [],
        open: new Set(),
        session: undefined,
        ...createDistrust(url),
      };
      origins.set(key, origin);
    }
    return origin;
  }

  /** Remembers that an origin sent bytes unasked, which would answer the next request on a kept connection. */
  function createDistrust(url: string): Pick<Origin, 'isDistrusted' | 'distrust'> {
    let untilTicks = -Infinity;
    const isDistrusted = () => clock.ticks() < untilTicks;
    return {
      isDistrusted,
      distrust() {
        if (!isDistrusted()) onUnasked(url);
        untilTicks = clock.ticks() + DISTRUST_MS;
      },
    };
  }

  function forgetUnconnected(): void {
    for (const [key, { open, isDistrusted }] of origins)
      if (open.size === 0 && !isDistrusted()) origins.delete(key);
  }

  function start(request: HttpRequest, call: Call, isRetry: boolean): void {
    if (call.isOver()) return;
    const origin = originOf(request);
    const kept = isRetry ? undefined : origin.idle.pop();
    try {
      const connection = kept ?? new Connection(origin);
      call.start(connection, request);
      if (isClosed) connection.destroy();
    } catch (error) {
      // undici throws for an address of a proxy that it cannot use.
      call.fail({ kind: 'unreachable', detail: messageOf(error) });
    }
  }

  return {
    send(request, listener) {
      const call = new Call(listener, clock, () => setImmediate(start, request, call, true));
      // It starts in the next turn, so that a caller has what is returned before it hears of a failure.
      setImmediate(start, request, call, false);
      return call;
    },
    dropIdle() {
      for (const { idle } of origins.values())
        for (const connection of idle.splice(0)) connection.destroy();
    },
    close() {
      isClosed = true;
      for (const { open } of origins.values()) for (const connection of open) connection.destroy();
    },
  };
}

/** What other programs take them from, so an API may answer everywhere but here (ollama/ollama#729); null if none is set. */
function environmentProxies(): Proxies | null {
  const httpProxy = proxyIn('http_proxy') ?? proxyIn('HTTP_PROXY') ?? '';
  const httpsProxy = proxyIn('https_proxy') ?? proxyIn('HTTPS_PROXY') ?? httpProxy;
  return httpsProxy === '' ? null : { httpProxy, httpsProxy };
}

/** As curl does, one without a scheme is taken for `http:`. */
function proxyIn(name: string): string | null {
  const address = process.env[name] ?? '';
  if (address === '') return null;
  return address.includes('://') ? address : `http://${address}`;
}
