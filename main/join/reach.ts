import { BlockList, connect, isIPv6 } from 'node:net';
import { canonicalIp, isLoopback, portOf } from '../platform/network-guard.ts';

/** The two ends of a connection to a gateway. */
export interface Reached {
  readonly kind: 'reached';
  readonly remoteAddress: string;
  /** This machine's own address on the way there: where that gateway finds it. */
  readonly localAddress: string;
}

export type Reach = Reached | { readonly kind: 'failed'; readonly why: string };

const CONNECT_TIMEOUT_MS = 5000;

/** Connects to the gateway at `origin` and says from where to where. */
export function reach(origin: string): Promise<Reach> {
  const url = new URL(origin);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const socket = connect({ host, port: portOf(url), timeout: CONNECT_TIMEOUT_MS });
    const settle = (result: Reach) => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => {
      const { remoteAddress = '', localAddress = '' } = socket;
      settle({
        kind: 'reached',
        remoteAddress: plain(remoteAddress),
        localAddress: plain(localAddress),
      });
    });
    socket.once('timeout', () => settle({ kind: 'failed', why: 'it does not answer' }));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      settle({ kind: 'failed', why: WORDS[error.code ?? ''] ?? error.code ?? 'unknown error' }),
    );
  });
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens on that port',
  ENOTFOUND: 'the name is unknown',
  EHOSTUNREACH: 'there is no way to that machine',
  ENETUNREACH: 'there is no way to that network',
};

const plain = (address: string) => canonicalIp(address) ?? address;

/** Addresses of a Tailscale network, whose traffic is encrypted (https://tailscale.com/kb/1015). */
const TAILNET = new BlockList();
TAILNET.addSubnet('100.64.0.0', 10, 'ipv4');
TAILNET.addSubnet('fd7a:115c:a1e0::', 48, 'ipv6');

/** Whether others on the way could read what is said: plain HTTP beyond this machine and the tailnet. */
export function isInTheClear(origin: string, { remoteAddress }: Reached): boolean {
  if (!origin.startsWith('http:') || isLoopback(remoteAddress)) return false;
  return !TAILNET.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4');
}
