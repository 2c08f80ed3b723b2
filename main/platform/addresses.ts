import { once } from 'node:events';
import { connect } from 'node:net';
import { CONNECT_TIMEOUT_MS } from './http/client.ts';
import { transportFailure } from './http/tls-and-socket-failures.ts';
import { bareHost, canonicalIp, portOf } from './network-guard.ts';

export interface ReachSuccess {
  readonly kind: 'reached';
  readonly remoteAddress: string;
  /** This machine's address on that connection, at which the gateway can reach it. */
  readonly localAddress: string;
}

export type ReachResult = ReachSuccess | { readonly kind: 'failed'; readonly why: string };

/** Connects to `origin` to find out the addresses of both ends. */
export async function reach(origin: string): Promise<ReachResult> {
  const url = new URL(origin);
  const socket = connect({ host: bareHost(url.hostname), port: portOf(url) });
  const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  try {
    await once(socket, 'connect', { signal });
    const { remoteAddress = '', localAddress = '' } = socket;
    const ends = { remoteAddress: plain(remoteAddress), localAddress: plain(localAddress) };
    return { kind: 'reached', ...ends };
  } catch (error) {
    if (signal.aborted) return { kind: 'failed', why: 'it does not answer' };
    return { kind: 'failed', why: transportFailure(error as Error, false).detail };
  } finally {
    socket.destroy();
  }
}

const plain = (address: string) => canonicalIp(address) ?? address;

/** The origin of a gateway's address; null if signed messages cannot be sent there. */
export function registryOrigin(address: string): string | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/') return null;
  return url.username + url.password + url.search + url.hash === '' ? url.origin : null;
}

/** The userinfo of an address as `Basic` credentials; null if it has none. */
export function basicAuthOf({ username, password }: URL): string | null {
  if (username === '' && password === '') return null;
  const pair = [username, password].map((part) => decoded(part) ?? part).join(':');
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

/** A part of an address without its percent encoding; null if a `%` in it encodes nothing. */
export function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
