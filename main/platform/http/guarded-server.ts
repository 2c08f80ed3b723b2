import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { REST_MS } from './responses.ts';

/** Clients keep connections longer than Node's 5 s; closing first would race with their next request. */
const CALLER_IDLE_MS = 75_000;
/** Time for a request head to arrive; Node's default of a minute lets slow callers hold connections that long. */
const HEAD_MS = 15_000;
/** Time for a whole request: a body of 32 MiB takes it at 1 Mbit/s. */
const REQUEST_MS = 300_000;
/** A caller that has taken nothing of its response for this long is gone, or asleep. */
const STALLED_MS = 600_000;

/** Below the limit of open files of common systems (4096 at least): callers leave the rest for upstreams and files. */
const MAX_CONNECTIONS = 2048;

/** Requests of one connection that wait for their answers; few clients send a second one before the first answer. */
const MAX_PIPELINED = 64;

/** An HTTP server, not listening yet, in which no caller can starve the others (docs/reference/limits.md#connections). */
export function createGuardedServer(
  listener: RequestListener,
  clock: Clock,
  { stalledMs = STALLED_MS, headMs = HEAD_MS, requestMs = REQUEST_MS } = {},
): Server {
  const server = createServer(
    {
      keepAliveTimeout: CALLER_IDLE_MS,
      headersTimeout: headMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(headMs, requestMs) / 3,
    },
    (req, res) => {
      const pipelined = connections.get(req.socket)?.length ?? 0;
      // An error response would have to wait for all of theirs.
      if (pipelined >= MAX_PIPELINED) req.socket.destroy();
      else listener(req, res);
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  const connections = trackConnections(server, clock);
  closeStalled(server, connections, stalledMs);
  refuseMalformed(server, connections);
  return server;
}

/** The open connections of a server, each with its unanswered requests. */
type Connections = ReadonlyMap<Socket, readonly ServerResponse[]>;

/**
 * Also makes a stopping server close each connection once all its requests are answered. By default Node cuts off a
 * response that is written but not yet sent, keeps a connection that becomes idle after the stop, and waits for
 * connections that never sent a request, which browsers open in advance.
 */
function trackConnections(server: Server, clock: Clock): Connections {
  const connections = new Map<Socket, ServerResponse[]>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, []);
    socket.on('close', () => connections.delete(socket));
  });
  server.on('request', (req, res) => {
    const { socket } = req;
    const unanswered = connections.get(socket) ?? [];
    unanswered.push(res);
    // Its response was sent or given up.
    res.on('close', () => {
      unanswered.splice(unanswered.indexOf(res), 1);
      if (!server.listening && unanswered.length === 0) socket.destroySoon();
      if (req.complete || socket.destroyed) return;
      // A body that was read at one go ends without an event; one that does not end soon ends the connection.
      clock.after(REST_MS, () => {
        if (!req.complete) socket.destroy();
      });
    });
  });
  // Called first by `server.close()`.
  server.closeIdleConnections = () => {
    for (const [socket, requests] of connections) if (requests.length === 0) socket.destroy();
  };
  return connections;
}

/**
 * Closes connections whose caller takes nothing of its response. Only those that have something to take get a timer, now
 * and then: one for each connection costs 3 % of a stream (`npm run bench`).
 */
function closeStalled(server: Server, connections: Connections, stalledMs: number): void {
  function rearm(): void {
    for (const [socket, requests] of connections) {
      const limitMs = socket.writableLength > 0 ? stalledMs : 0;
      if (requests.length > 0 && (socket.timeout ?? 0) !== limitMs) socket.setTimeout(limitMs);
    }
  }
  // A server that cannot listen is never closed.
  server.on('listening', () => {
    const timer = setInterval(rearm, stalledMs / 20).unref();
    server.on('close', () => clearInterval(timer));
  });
}

/** Answers a request that is not HTTP, or whose head did not come in time, and closes the connection at once. */
function refuseMalformed(server: Server, connections: Connections): void {
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    // It comes again with each further read, until what was written is taken.
    if (!socket.writable) return;
    const hasBegun = connections.get(socket)?.some(({ headersSent }) => headersSent) === true;
    // Browsers open connections in advance; a response without a request would confuse them.
    if (socket.bytesRead > 0 && !hasBegun) {
      const status = STATUS_OF.get(code ?? '') ?? '400 Bad Request';
      socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    }
    socket.destroySoon();
    // Further bytes would look as if the caller took its response.
    socket.pause();
  });
}

const STATUS_OF: ReadonlyMap<string, string> = new Map([
  // Cookies ignore ports: browsers also send those of other local servers, which may be too many.
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);
