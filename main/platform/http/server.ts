import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Whether a server got its address. */
type Listening =
  | { readonly kind: 'listening'; readonly port: number }
  /** `absent`: this machine has no such address. */
  | { readonly kind: 'failed'; readonly absent: boolean; readonly message: string };

/** Binds a server; a taken port or a missing address is a value. */
export function listen(server: Server, host: string, port: number): Promise<Listening> {
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const absent = error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT';
      resolve({ kind: 'failed', absent, message: describe(error, host, port) });
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

/** An address as it stands in a URL. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Makes a stopping server close each connection as soon as it owes no answer. By itself Node cuts off
 * an answer that is written but not yet sent, keeps a connection that fell idle after the stop, and
 * waits for one that never asked for anything, such as browsers open in advance.
 */
export function closeOnceAnswered(server: Server): void {
  const owed = new Map<Socket, number>();
  server.on('connection', (socket: Socket) => {
    owed.set(socket, 0);
    socket.on('close', () => owed.delete(socket));
  });
  server.on('request', ({ socket }, res) => {
    owed.set(socket, (owed.get(socket) ?? 0) + 1);
    res.on('close', () => {
      const before = owed.get(socket);
      if (before === undefined) return;
      owed.set(socket, before - 1);
      if (before === 1 && !server.listening) socket.destroySoon();
    });
  });
  // What `server.close()` calls first.
  server.closeIdleConnections = () => {
    for (const [socket, answers] of owed) if (answers === 0) socket.destroy();
  };
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i;

/** True for a host, by name or address, that only this machine can reach. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOST.test(host);
}

/** An address of this machine at which others may reach it, IPv4 before IPv6; null when it has none. */
export function outsideAddress(): string | null {
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    // A link-local IPv6 address says nothing without the interface it belongs to.
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80'));
  const preferred = outside.find(({ family }) => family === 'IPv4') ?? outside[0];
  return preferred?.address ?? null;
}

/** A request body, or why there is none. */
type BodyRead =
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** The caller went away while sending. */
  | { readonly kind: 'aborted' };

/** Reads a whole body of at most `maxBytes`; of a larger one, the rest is read and thrown away. */
export function readBody(req: IncomingMessage, maxBytes: number): Promise<BodyRead> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = Number(req.headers['content-length'] ?? 0) > maxBytes ? maxBytes + 1 : 0;
    if (bytes > maxBytes) resolve({ kind: 'too_large' });
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) parts.push(chunk);
      else resolve({ kind: 'too_large' });
    });
    req.on('end', () => {
      const [only] = parts;
      resolve({ kind: 'body', bytes: parts.length === 1 && only ? only : Buffer.concat(parts) });
    });
    req.on('close', () => resolve({ kind: 'aborted' }));
    req.on('error', () => resolve({ kind: 'aborted' }));
  });
}
