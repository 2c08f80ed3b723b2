import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { InterfaceAddress } from '#shared/sharing.ts';
import { bareHost } from '../network-guard.ts';

type ListenResult =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly cause: ListenFailure; readonly message: string };

/** `absent`: this machine has no such address. `taken`: another program has the port, perhaps for a moment. */
export type ListenFailure = 'absent' | 'taken' | 'other';

const CAUSES: Readonly<Record<string, ListenFailure>> = {
  EADDRINUSE: 'taken',
  EADDRNOTAVAIL: 'absent',
  EAFNOSUPPORT: 'absent',
};

/** Binds a server. A port in use and a missing address are results; it does not reject. */
export function listen(server: Server, host: string, port: number): Promise<ListenResult> {
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const cause = CAUSES[error.code ?? ''] ?? 'other';
      resolve({ kind: 'failed', cause, message: describe(error, host, port) });
    });
    server.listen({ host, port }, () => {
      server.removeAllListeners('error');
      const { port: bound } = server.address() as AddressInfo;
      resolve({ kind: 'listening', port: bound });
    });
  });
}

function describe(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is taken by another program, perhaps another Inglenook; stop that one or choose another port.`;
    case 'EACCES':
      return `Port ${port} on ${host} may not be used by this user; choose one above 1023.`;
    case 'EADDRNOTAVAIL':
      return `This machine has no address ${host}.`;
    default:
      return `${host}:${port} cannot be used: ${error.code ?? error.message}.`;
  }
}

/** A host as written in a URL: an IPv6 address in brackets. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i;

/** Whether a host name or address is this machine's loopback. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOST.test(host);
}

/** Whether a host stands for all addresses of this machine. */
export function isWildcardHost(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** Names that Docker, libvirt, VirtualBox, VMware, Hyper-V and WSL give to networks inside this machine. */
const VIRTUAL =
  /^(docker|podman|br-|veth|virbr|vboxnet|vmnet|lxc|lxd|cni|bridge\d)|vEthernet|VirtualBox|VMware|Hyper-V|WSL/i;
/** VirtualBox's own network, whose name on Windows may be any. */
const VIRTUAL_ADDRESS = /^192\.168\.56\./;
const TUNNEL = /^(utun|tun|tap|wg|ppp|zt)|tailscale|zerotier|wireguard|vpn/i;
/** Tailscale's addresses, and those of providers that share one (RFC 6598). */
const TUNNEL_ADDRESS = /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./;
/** Given by a machine to itself where no network gave it one (RFC 3927). */
const LINK_LOCAL = /^169\.254\./;

/** How unlikely it is that others in the same room reach the address; interfaces are listed in no useful order. */
function remoteness({ address, interfaceName }: InterfaceAddress): number {
  if (LINK_LOCAL.test(address)) return 3;
  if (VIRTUAL.test(interfaceName) || VIRTUAL_ADDRESS.test(address)) return 2;
  return TUNNEL.test(interfaceName) || TUNNEL_ADDRESS.test(address) ? 1 : 0;
}

/** The addresses of this machine for others in its networks: IPv4 first, then as likely as others reach them. */
export function outsideAddresses(interfaces = networkInterfaces()): readonly InterfaceAddress[] {
  const outside = Object.entries(interfaces)
    .flatMap(([interfaceName, addresses]) =>
      (addresses ?? []).map((each) => ({ ...each, interfaceName })),
    )
    // A link-local IPv6 address is useless without its interface.
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80'));
  return outside
    .toSorted((a, b) => a.family.localeCompare(b.family) || remoteness(a) - remoteness(b))
    .map(({ address, interfaceName }) => ({ address, interfaceName }));
}

/** A host as configured, without the brackets of an address, and without the name of loopback. */
export const literalHost = (host: string): string =>
  host === 'localhost' ? '127.0.0.1' : bareHost(host);

/** The host that other machines call, for a host as configured; loopback if nothing else is known. */
export function outsideHost(hostAsSet: string): string {
  const host = literalHost(hostAsSet);
  if (!isWildcardHost(host)) return host;
  return outsideAddresses()[0]?.address ?? (host === '::' ? '::1' : '127.0.0.1');
}

/** The address of a connection's other end, an IPv4 one without its form in IPv6; null once that is gone. */
export const peerAddress = ({ remoteAddress }: Pick<Socket, 'remoteAddress'>): string | null =>
  remoteAddress?.replace(/^::ffff:/, '') ?? null;
