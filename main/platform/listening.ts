import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Whether a server got its address. */
export type Listening =
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
