import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { BodyShare } from '../body-budget.ts';
import { ByteBuffer } from '../byte-buffer.ts';
import type { Clock } from '../clock.ts';

type ListenResult =
  | { readonly kind: 'listening'; readonly port: number }
  /** `absent`: this machine has no such address. `taken`: another program has the port, perhaps for a moment. */
  | {
      readonly kind: 'failed';
      readonly absent: boolean;
      readonly taken: boolean;
      readonly message: string;
    };

/** Binds a server. A port in use and a missing address are results; it does not reject. */
export function listen(server: Server, host: string, port: number): Promise<ListenResult> {
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const absent = error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT';
      const taken = error.code === 'EADDRINUSE';
      resolve({ kind: 'failed', absent, taken, message: describe(error, host, port) });
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
      return `Port ${port} on ${host} is taken by another program; stop that one or choose another port.`;
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

/** How long the rest of a body is still read after the request was answered. */
const REST_MS = 2000;

/** Closes the connection of an answered request if its body does not end soon. */
export function closeUnread(req: IncomingMessage, clock: Clock): void {
  const { socket } = req;
  if (req.complete || socket.destroyed) return;
  const cancelTimer = clock.after(REST_MS, () => void socket.destroy());
  req.on('close', cancelTimer);
}

/** What to do with a body that still arrives after its request was answered. */
export interface RestPlan {
  readonly clock: Clock;
  /** The connection is closed once more than this has come over the wire. */
  readonly maxRestBytes: number;
}

/**
 * Ends a response that was written while the request body still arrives, and closes the connection. Closing it
 * at once would reset it, and the sender would lose the response unread; so up to `maxRestBytes` of the rest are
 * read and dropped first, for at most 2 s.
 */
export function endAfterRest(
  req: IncomingMessage,
  res: ServerResponse,
  { clock, maxRestBytes }: RestPlan,
): void {
  if (req.readableEnded || maxRestBytes === 0) {
    res.end();
    return;
  }
  const close = () => {
    cancelTimer();
    res.end();
  };
  const cancelTimer = clock.after(REST_MS, close);
  const { socket } = req;
  const maxBytesRead = socket.bytesRead + maxRestBytes;
  req.on('end', close).on('close', close);
  req.on('data', () => {
    if (socket.bytesRead > maxBytesRead) close();
  });
  req.resume();
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

interface OutsideAddress {
  readonly address: string;
  /** Of its network interface, such as `eth0`. */
  readonly interfaceName: string;
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
function remoteness({ address, interfaceName }: OutsideAddress): number {
  if (LINK_LOCAL.test(address)) return 3;
  if (VIRTUAL.test(interfaceName) || VIRTUAL_ADDRESS.test(address)) return 2;
  return TUNNEL.test(interfaceName) || TUNNEL_ADDRESS.test(address) ? 1 : 0;
}

/** The addresses of this machine for others in its networks: IPv4 first, then as likely as others reach them. */
export function outsideAddresses(interfaces = networkInterfaces()): readonly OutsideAddress[] {
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

/** An address of this machine for others in its network, IPv4 preferred; null if it has none. */
export const outsideAddress = (): string | null => outsideAddresses()[0]?.address ?? null;

/** Why a body is not taken. `no_room`: the budget for bodies in flight is used up. */
export type BodyRefusal = 'too_large' | 'no_room';

interface BodyLimits {
  readonly maxBytes: number;
  /** The caller gives it back after use. */
  readonly share?: BodyShare;
}

/**
 * Reads a whole body; `aborted`: the caller went away while sending. After a refusal the rest is read and dropped,
 * until the caller closes the connection.
 */
export async function readBody(
  req: IncomingMessage,
  { maxBytes, share }: BodyLimits,
): Promise<Buffer | BodyRefusal | 'aborted'> {
  const length = req.headers['content-length'];
  const announcedBytes = length === undefined ? null : Number(length);
  const refusalAt = (bytes: number): BodyRefusal | null => {
    if (Math.max(bytes, announcedBytes ?? 0) > maxBytes) return 'too_large';
    return share?.hold(bytes, announcedBytes) === false ? 'no_room' : null;
  };
  // A body that came with its head is there once the parser has gone through the read.
  await Promise.resolve();
  const isAtHand = req.readableLength > 0 && req.readableLength === announcedBytes;
  const refusal = refusalAt(isAtHand ? announcedBytes : 0);
  if (refusal !== null) {
    share?.giveBack();
    return refusal;
  }
  // Without listeners (5 % of a plain request).
  if (isAtHand) return req.read() as Buffer;
  return new Promise((resolve) => {
    const body = new ByteBuffer(announcedBytes ?? undefined);
    let isOver = false;
    const end = (read: Buffer | BodyRefusal | 'aborted') => {
      isOver = true;
      resolve(read);
    };
    req.on('data', (chunk: Buffer) => {
      if (isOver) return;
      const refused = refusalAt(body.length + chunk.length);
      if (refused === null) {
        body.add(chunk);
        return;
      }
      body.clear();
      share?.giveBack();
      end(refused);
    });
    req.on('end', () => end(body.take()));
    req.on('close', () => end('aborted'));
    req.on('error', () => end('aborted'));
  });
}
