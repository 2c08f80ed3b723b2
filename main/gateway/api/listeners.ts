import type { Server } from 'node:http';
import {
  isLoopbackHost,
  isWildcardHost,
  listen,
  outsideAddress,
  urlHost,
} from '../../platform/http/server.ts';

/** A server that listens at one address. */
export interface Listener {
  readonly address: string;
  readonly server: Server;
}

/** Where the gateway listens. */
export interface Listening {
  /** As configured, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly listeners: readonly Listener[];
}

export type Bound =
  | { readonly kind: 'bound'; readonly listening: Listening }
  /** `isTransient`: the port or the address may become available later. */
  | {
      readonly kind: 'failed';
      readonly isTransient: boolean;
      readonly isPortTaken: boolean;
      readonly message: string;
    };

/** With port 0 the second address needs the first one's port, which may be in use there. */
const FREE_PORT_TRIES = 5;

const LOOPBACK = ['127.0.0.1', '::1'] as const;

/**
 * The addresses at which a gateway with this host listens. IPv4 loopback includes `::1`, because `localhost` may
 * resolve to either; an outside address includes loopback, so that the apps of this machine keep theirs.
 */
function addressesFor(host: string): readonly string[] {
  if (host === '127.0.0.1') return LOOPBACK;
  return isWildcardHost(host) || isLoopbackHost(host) ? [host] : [host, ...LOOPBACK];
}

const literalOf = (host: string): string =>
  host === 'localhost' ? '127.0.0.1' : host.replace(/^\[(.*)\]$/, '$1');

/** Whether the gateway can run without an additional address: one that is missing, or loopback beside an outside host. */
const isOptional = (host: string, isAbsent: boolean): boolean => isAbsent || !isLoopbackHost(host);

/** Binds all addresses of `host`, or none. */
export async function bind(
  hostAsSet: string,
  port: number,
  makeServer: () => Server,
): Promise<Bound> {
  const host = literalOf(hostAsSet);
  for (let tries = 1; ; tries += 1) {
    const bound = await bindOnce(host, port, makeServer);
    if (bound.kind === 'bound' || !bound.isAdditional || port !== 0 || tries === FREE_PORT_TRIES) {
      return bound;
    }
  }
}

type BoundOnce =
  | Extract<Bound, { kind: 'bound' }>
  | (Extract<Bound, { kind: 'failed' }> & { readonly isAdditional: boolean });

async function bindOnce(host: string, port: number, makeServer: () => Server): Promise<BoundOnce> {
  const listeners: Listener[] = [];
  let boundPort = port;
  for (const address of addressesFor(host)) {
    const server = makeServer();
    const bound = await listen(server, address, boundPort);
    if (bound.kind === 'listening') {
      boundPort = bound.port;
      listeners.push({ address, server });
    } else if (address === host || !isOptional(host, bound.absent)) {
      for (const each of listeners) each.server.close();
      const { taken: isPortTaken, absent, message } = bound;
      const isTransient = isPortTaken || absent;
      return { kind: 'failed', isTransient, isPortTaken, message, isAdditional: address !== host };
    }
  }
  return { kind: 'bound', listening: { host, port: boundPort, listeners } };
}

/** How a running gateway moves to another host. */
export type Move =
  /** The new addresses are already open, beside the old ones. */
  | {
      readonly kind: 'ready';
      readonly next: Listening;
      readonly added: readonly Listener[];
      readonly retired: readonly Listener[];
    }
  /** Linux does not let a program bind all addresses of a port while it listens on one of them, or the reverse. */
  | { readonly kind: 'at_restart' }
  | { readonly kind: 'failed'; readonly message: string };

/** Binds what `host` needs beyond `now`. */
export async function prepareMove(
  now: Listening,
  hostAsSet: string,
  makeServer: () => Server,
): Promise<Move> {
  const host = literalOf(hostAsSet);
  if (host !== now.host && (isWildcardHost(host) || isWildcardHost(now.host))) {
    return { kind: 'at_restart' };
  }
  const wanted = addressesFor(host);
  const kept = now.listeners.filter(({ address }) => wanted.includes(address));
  const added: Listener[] = [];
  for (const address of wanted) {
    if (kept.some((each) => each.address === address)) continue;
    const server = makeServer();
    const bound = await listen(server, address, now.port);
    if (bound.kind === 'listening') added.push({ address, server });
    else if (address === host) {
      for (const each of added) each.server.close();
      return { kind: 'failed', message: bound.message };
    }
  }
  const retired = now.listeners.filter(({ address }) => !wanted.includes(address));
  return {
    kind: 'ready',
    next: { host, port: now.port, listeners: [...kept, ...added] },
    added,
    retired,
  };
}

/** The addresses of a gateway as URLs. */
export interface ListeningUrls {
  /** Of the window, such as `http://127.0.0.1:47900`. */
  readonly url: string;
  /** For other machines, as far as it is known; `url` if bound to loopback. */
  readonly outsideUrl: string;
  /** For apps, such as `http://localhost:47900/v1`. */
  readonly baseUrl: string;
}

export function urlsOf({ host, port, listeners }: Listening): ListeningUrls {
  const isOnLoopback = listeners.some(({ address }) => address === LOOPBACK[0]);
  const reachable =
    host === '0.0.0.0' || isOnLoopback ? LOOPBACK[0] : host === '::' ? LOOPBACK[1] : host;
  const outside = outsideHost(host);
  const named = reachable === LOOPBACK[0] ? 'localhost' : urlHost(reachable);
  return {
    url: `http://${urlHost(reachable)}:${port}`,
    outsideUrl: `http://${urlHost(outside)}:${port}`,
    baseUrl: `http://${named}:${port}/v1`,
  };
}

/** The host that other machines call, for a host as configured; loopback if nothing else is known. */
export function outsideHost(hostAsSet: string): string {
  const host = literalOf(hostAsSet);
  if (!isWildcardHost(host)) return host;
  return outsideAddress() ?? (host === '::' ? LOOPBACK[1] : LOOPBACK[0]);
}
