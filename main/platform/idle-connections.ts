import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from './clock.ts';

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
