import type { Server, ServerResponse } from 'node:http';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import { listen, outsideAddress, urlHost } from '../../platform/http/server.ts';
import type { Log } from '../../platform/log.ts';

export type Started = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** The gateway's life as a server: bound, running, stopping. */
export interface Lifecycle {
  start(config: Config): Promise<Started>;
  /** Takes no new requests; running ones may finish for `graceMs`, then they are ended. */
  stop(graceMs: number): Promise<void>;
  isStopping(): boolean;
  /** Empty before the start. */
  url(): string;
  baseUrl(): string;
  /** Where other machines reach it. */
  outsideUrl(): string;
  /** An event stream never finishes by itself: it is ended when the gateway stops. */
  endAtStop(stream: ServerResponse): void;
}

/** A reader of an event stream that does not read its end by then is not waited for. */
const STREAM_END_MS = 500;

/** Makes it around the server that `makeServer` makes, one per bound address. */
export function createLifecycle(makeServer: () => Server, clock: Clock, log: Log): Lifecycle {
  const streams = new Set<ServerResponse>();
  let listeners: Listeners | null = null;
  let stopping = false;
  return {
    async start({ gateway }) {
      const bound = await bind(gateway.host, gateway.port, makeServer, clock);
      if (bound.kind === 'failed') return { ok: false, message: bound.message };
      ({ listeners } = bound);
      log('info', 'started', { url: listeners.url });
      return { ok: true };
    },
    async stop(graceMs) {
      stopping = true;
      for (const stream of streams) stream.end();
      const cancelTimer = clock.after(STREAM_END_MS, () => {
        for (const stream of streams) stream.destroy();
      });
      await listeners?.close(graceMs);
      cancelTimer();
      log('info', 'stopped');
    },
    isStopping: () => stopping,
    url: () => listeners?.url ?? '',
    baseUrl: () => listeners?.baseUrl ?? '',
    outsideUrl: () => listeners?.outsideUrl ?? '',
    endAtStop(stream) {
      streams.add(stream);
      stream.on('close', () => streams.delete(stream));
    },
  };
}

/** The gateway's bound addresses. */
interface Listeners {
  /** Where the window is, such as `http://127.0.0.1:47900`. */
  readonly url: string;
  /** Where other machines reach it, as far as it can be told; `url` where it is bound to loopback. */
  readonly outsideUrl: string;
  /** What clients are given, such as `http://localhost:47900/v1`. */
  readonly baseUrl: string;
  /** Takes no new connections; resolves when all are closed, or after `graceMs` closes them. */
  close(graceMs: number): Promise<void>;
  /** Closes everything now. */
  destroy(): void;
}

type Bound =
  | { readonly kind: 'bound'; readonly listeners: Listeners }
  | { readonly kind: 'failed'; readonly message: string };

/** With port 0 the second family needs the first one's port, which may be taken there. */
const FREE_PORT_TRIES = 5;

/**
 * Binds `host`, and for IPv4 loopback `::1` as well where the machine has it: `localhost` may resolve
 * to either.
 */
async function bind(
  host: string,
  port: number,
  makeServer: () => Server,
  clock: Clock,
): Promise<Bound> {
  const isLoopback = host === 'localhost' || host === '127.0.0.1';
  const first = isLoopback ? '127.0.0.1' : host.replace(/^\[(.*)\]$/, '$1');
  let message = '';
  for (let tries = 0; tries < (port === 0 ? FREE_PORT_TRIES : 1); tries += 1) {
    const server = makeServer();
    const bound = await listen(server, first, port);
    if (bound.kind === 'failed') return bound;
    if (!isLoopback)
      return { kind: 'bound', listeners: createListeners([server], first, bound.port, clock) };
    const twin = makeServer();
    const second = await listen(twin, '::1', bound.port);
    if (second.kind === 'listening') {
      return {
        kind: 'bound',
        listeners: createListeners([server, twin], first, bound.port, clock),
      };
    }
    if (second.absent) {
      return { kind: 'bound', listeners: createListeners([server], first, bound.port, clock) };
    }
    server.close();
    ({ message } = second);
  }
  return { kind: 'failed', message };
}

function createListeners(
  servers: readonly Server[],
  host: string,
  port: number,
  clock: Clock,
): Listeners {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const isWildcard = reachable !== host;
  const outside = (isWildcard ? outsideAddress() : null) ?? reachable;
  const named = reachable === '127.0.0.1' ? 'localhost' : urlHost(reachable);
  const destroy = () => {
    for (const server of servers) server.closeAllConnections();
  };
  return {
    url: `http://${urlHost(reachable)}:${port}`,
    outsideUrl: `http://${urlHost(outside)}:${port}`,
    baseUrl: `http://${named}:${port}/v1`,
    async close(graceMs) {
      const cancelGrace = clock.after(graceMs, destroy);
      await Promise.all(servers.map(closed));
      cancelGrace();
    },
    destroy,
  };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
