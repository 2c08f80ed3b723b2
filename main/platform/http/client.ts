import { type Clock, systemClock } from '../clock.ts';
import { bareHost } from '../network-guard.ts';
import { closeAll, PlainConnection, type PlainOrigin } from './http1-connection.ts';
import { transportFailure } from './tls-and-socket-failures.ts';
import { createDistrust, type Distrust } from './transport.ts';
import type { Exchange, HttpClient, HttpRequest, ResponseListener } from './types.ts';

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
 * Uses our own client for `http:` origins, engines on this machine and in the local network, and undici for `https:`,
 * which is loaded on first use. Ours keeps any number of connections, with one request at a time on each. It exists
 * because a general client costs more time per request; docs/contributing/decisions/own-http-client.md has the figures
 * and when to drop it. Connections to an origin that has sent bytes nobody asked for are not kept for ten minutes.
 */
export function createHttpClient({
  clock = systemClock,
  onUnasked = () => {},
}: Partial<ClientEdges> = {}): HttpClient {
  const distrust = createDistrust(clock, onUnasked);
  const origins = new Map<string, PlainOrigin>();
  const tls = createLazyClient(async () => {
    const { createTlsClient } = await import('./tls-client.ts');
    return createTlsClient(CONNECT_TIMEOUT_MS, distrust);
  });

  function originAt(url: string): PlainOrigin {
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
      if (!request.origin.startsWith('http:')) return tls.send(request, listener);
      const origin = originAt(request.origin);
      const kept = request.fresh ? undefined : origin.idle.pop();
      const connection = kept ?? new PlainConnection(origin, CONNECT_TIMEOUT_MS);
      return connection.send(request, listener);
    },
    dropIdle() {
      for (const { idle } of origins.values()) closeAll(idle);
      tls.dropIdle();
    },
    close() {
      for (const { open } of origins.values()) {
        for (const connection of open) connection.destroy();
      }
      return tls.close();
    },
  };
}

function parseOrigin(url: string, distrust: Distrust): PlainOrigin {
  const { host, hostname, port } = new URL(url);
  return {
    url,
    host: bareHost(hostname),
    port: port === '' ? 80 : Number(port),
    authority: host,
    idle: [],
    open: new Set(),
    distrust,
  };
}

/** A client that is loaded on its first request, to save its memory where it is not used. */
export function createLazyClient(load: () => Promise<HttpClient>): HttpClient {
  let loading: Promise<HttpClient> | null = null;
  let loaded: HttpClient | null = null;

  async function begin(request: HttpRequest, exchange: WaitingExchange): Promise<void> {
    loading ??= load();
    try {
      const client = await loading;
      loaded = client;
      exchange.begin((listener) => client.send(request, listener));
    } catch (error) {
      // The next request loads it again: there may have been no descriptor left for its files.
      loading = null;
      exchange.fail(error instanceof Error ? error : new Error('unknown'));
    }
  }

  return {
    send(request, listener) {
      if (loaded !== null) return loaded.send(request, listener);
      const exchange = new WaitingExchange(listener);
      void begin(request, exchange);
      return exchange;
    },
    dropIdle: () => loaded?.dropIdle(),
    close: async () => {
      const client = await loading?.catch(() => null);
      await client?.close();
    },
  };
}

/** An exchange of a client that is still being loaded; once it has begun, all calls are passed on. */
class WaitingExchange implements Exchange {
  listener: ResponseListener;
  #exchange: Exchange | null = null;
  #isPaused = false;
  #isAborted = false;

  constructor(listener: ResponseListener) {
    this.listener = listener;
  }

  begin(send: (listener: ResponseListener) => Exchange): void {
    if (this.#isAborted) return;
    // `listener` may be replaced at any time, so it is looked up for each event.
    this.#exchange = send({
      onHead: (status, headers) => this.listener.onHead(status, headers),
      onData: (chunk) => this.listener.onData(chunk),
      onEnd: () => this.listener.onEnd(),
      onFailure: (failure) => this.listener.onFailure(failure),
    });
    if (this.#isPaused) this.#exchange.pause();
  }

  /** The client cannot be loaded. */
  fail(error: Error): void {
    if (this.#isAborted) return;
    const { kind } = transportFailure(error, { headSeen: false, reused: false });
    this.listener.onFailure({ kind, detail: error.message, stale: false });
  }

  pause(): void {
    this.#isPaused = true;
    this.#exchange?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#exchange?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#exchange?.abort();
  }

  hasLeft(): boolean {
    return this.#exchange?.hasLeft() ?? false;
  }
}
