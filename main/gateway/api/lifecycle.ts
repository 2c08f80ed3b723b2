import type { Server, ServerResponse } from 'node:http';
import type { Config } from '../../config/schema.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import { isLoopbackHost, listen, outsideAddress, urlHost } from '../../platform/http/server.ts';
import type { Log } from '../../platform/log.ts';

export type Started =
  | { readonly ok: true }
  /** `isPortTaken`: by another program, so that another port would do. */
  | { readonly ok: false; readonly isPortTaken: boolean; readonly message: string };

export interface Lifecycle {
  start(config: Config): Promise<Started>;
  /** Refuses new requests, and ends running ones after `graceMs`. */
  stop(graceMs: number): Promise<void>;
  isStopping(): boolean;
  /** Empty before the start. */
  url(): string;
  baseUrl(): string;
  /** Whether it listens beyond loopback. */
  isShared(): boolean;
  /** The address for other machines; loopback if the gateway is bound to it. */
  outsideUrl(): string;
  /** Ends an event stream, which never finishes by itself, when the gateway stops. */
  endAtStop(stream: ServerResponse): void;
}

/** Wait for readers of event streams to read to the end, before their connections are closed. */
const STREAM_END_MS = 500;

/** Told why the start waits; null: a port that is taken is not waited for. */
export type OnPortTaken = ((message: string) => void) | null;

interface LifecycleEdges {
  readonly clock: Clock;
  readonly log: Log;
  readonly onPortTaken: OnPortTaken;
}

/** `makeServer` is called once per bound address. */
export function createLifecycle(
  makeServer: () => Server,
  { clock, log, onPortTaken }: LifecycleEdges,
): Lifecycle {
  const streams = new Set<ServerResponse>();
  let listeners: Listeners | null = null;
  let stopping = false;
  return {
    async start({ gateway }) {
      const tryBind = () => bind(gateway.host, gateway.port, makeServer, clock);
      const bound = await bindPatiently(tryBind, clock, onPortTaken);
      if (bound.kind === 'failed') {
        const { isPortTaken, message } = bound;
        return { ok: false, isPortTaken, message };
      }
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
    isShared: () => listeners?.isShared ?? false,
    outsideUrl: () => listeners?.outsideUrl ?? '',
    endAtStop(stream) {
      streams.add(stream);
      stream.on('close', () => streams.delete(stream));
    },
  };
}

interface Listeners {
  /** Of the window, such as `http://127.0.0.1:47900`. */
  readonly url: string;
  readonly isShared: boolean;
  /** For other machines, as far as it is known; `url` if bound to loopback. */
  readonly outsideUrl: string;
  /** For apps, such as `http://localhost:47900/v1`. */
  readonly baseUrl: string;
  /** Refuses new connections; resolves when all are closed, by force after `graceMs`. */
  close(graceMs: number): Promise<void>;
  /** Closes all connections now. */
  destroy(): void;
}

type Bound =
  | { readonly kind: 'bound'; readonly listeners: Listeners }
  /** `mayPass`: the port or the address may be free later. */
  | {
      readonly kind: 'failed';
      readonly mayPass: boolean;
      readonly isPortTaken: boolean;
      readonly message: string;
    };

/** The default port lies in the range from which Linux takes ports for outgoing connections. */
const PATIENCE_MS = 5000;
const RETRY_MS = 250;

async function bindPatiently(
  tryBind: () => Promise<Bound>,
  clock: Clock,
  onPortTaken: OnPortTaken,
): Promise<Bound> {
  const untilTicks = clock.ticks() + PATIENCE_MS;
  const never = new AbortController().signal;
  for (let tries = 1; ; tries += 1) {
    const bound = await tryBind();
    if (bound.kind === 'bound' || onPortTaken === null || !bound.mayPass) return bound;
    if (clock.ticks() >= untilTicks) return bound;
    if (tries === 1) onPortTaken(`${bound.message} Waiting up to ${PATIENCE_MS / 1000} s for it.`);
    await sleep(clock, RETRY_MS, never);
  }
}

/** With port 0 the second address needs the first one's port, which may be in use there. */
const FREE_PORT_TRIES = 5;

/**
 * Binds `host`, and with IPv4 loopback also `::1` if the machine has it, because `localhost` may resolve to
 * either.
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
    if (bound.kind === 'failed') {
      const { taken: isPortTaken, message: why } = bound;
      return { kind: 'failed', mayPass: isPortTaken || bound.absent, isPortTaken, message: why };
    }
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
  return { kind: 'failed', mayPass: true, isPortTaken: true, message };
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
    isShared: !isLoopbackHost(host),
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
