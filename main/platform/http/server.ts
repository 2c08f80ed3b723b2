import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { BodyShare } from '../body-budget.ts';
import { ByteBuffer } from '../byte-buffer.ts';
import type { Clock } from '../clock.ts';

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

/** So long the rest of a body is still read whose request was answered without it. */
const REST_MS = 2000;

/** Makes a server close connections on which a body goes on after its answer: nobody reads it. */
export function closeUnread(server: Server, clock: Clock): void {
  server.on('request', (req, res) => {
    res.on('close', () => {
      const { socket } = req;
      if (req.complete || socket.destroyed) return;
      const cancelTimer = clock.after(REST_MS, () => void socket.destroy());
      req.on('close', cancelTimer);
    });
  });
}

/** What becomes of a body that comes on after its request was answered. */
export interface RestPlan {
  readonly clock: Clock;
  /** The connection is closed once so much more of it has come over the wire. */
  readonly maxRestBytes: number;
}

/**
 * Ends an answer that is written while the body of its request still comes, and closes the connection.
 * Closing at once would reset it, and the sender would lose the answer unread; so the rest is read and
 * thrown away, but for `maxRestBytes` on the wire and a short while.
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
export type BodyRead =
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** The bodies in flight leave no room for it. */
  | { readonly kind: 'no_room' }
  /** It comes in pieces that are too small to be anything but an attack. */
  | { readonly kind: 'too_many_pieces' }
  /** The caller went away while sending. */
  | { readonly kind: 'aborted' };

/** What a body may be. */
interface BodyLimits {
  readonly maxBytes: number;
  /** Each piece costs about a microsecond, however small. */
  readonly maxPieces?: number;
  /** What it holds of a budget; whoever made it gives it back. */
  readonly share?: BodyShare;
}

/** Reads a whole body; of one that is not taken, the rest is read and thrown away. */
export function readBody(
  req: IncomingMessage,
  { maxBytes, maxPieces = Infinity, share }: BodyLimits,
): Promise<BodyRead> {
  return new Promise((resolve) => {
    const announced = Number(req.headers['content-length'] ?? 0);
    const body = new ByteBuffer(announced);
    let taken = 0;
    let pieces = 0;
    let isRefused = false;

    const refuse = (kind: 'too_large' | 'no_room' | 'too_many_pieces') => {
      isRefused = true;
      body.clear();
      share?.giveBack();
      resolve({ kind });
    };
    /** What was announced counts from the beginning, or ten bodies would be half read for the sake of one. */
    const take = (bytes: number) => {
      if (bytes > maxBytes) refuse('too_large');
      else if (bytes > taken && share?.take(bytes - taken) === false) refuse('no_room');
      else taken = Math.max(taken, bytes);
    };

    take(announced);
    req.on('data', (chunk: Buffer) => {
      if (isRefused) return;
      pieces += 1;
      take(body.length + chunk.length);
      if (pieces > maxPieces) refuse('too_many_pieces');
      else if (!isRefused) body.add(chunk);
    });
    req.on('end', () => resolve({ kind: 'body', bytes: body.take() }));
    req.on('close', () => resolve({ kind: 'aborted' }));
    req.on('error', () => resolve({ kind: 'aborted' }));
  });
}
