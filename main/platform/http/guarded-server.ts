import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { isObject } from '../json.ts';
import type { Clock } from '../clock.ts';
import { canonicalIp, isLoopback, networkOf } from '../network-guard.ts';
import { closeUnread, MeteredRequest } from './server.ts';

/** Clients keep connections longer than Node's 5 s; closing first would race with their next request. */
const KEEP_ALIVE_MS = 75_000;
/** Time for a request head to arrive; Node's default of a minute lets slow callers hold connections that long. */
const HEAD_MS = 15_000;
/** A caller that has taken nothing of its response for this long is gone, or asleep. */
const STALLED_MS = 600_000;

/** Requests of one connection that wait for their answers; few clients send a second one before the first answer. */
const MAX_PIPELINED = 64;

/** An HTTP server, not listening yet, in which no caller can starve the others (docs/reference/limits.md#connections). */
export function createGuardedServer(
  listener: RequestListener,
  clock: Clock,
  { stalledMs = STALLED_MS, headMs = HEAD_MS, unproved = UNPROVED_LIMITS } = {},
): Server {
  const server = createServer(
    {
      IncomingMessage: MeteredRequest,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: headMs,
      connectionsCheckingInterval: headMs / 3,
    },
    (req, res) => {
      const pipelined = connections.get(req.socket)?.size ?? 0;
      // An error response would have to wait for all of theirs.
      if (pipelined >= MAX_PIPELINED) req.socket.destroy();
      else listener(req, res);
    },
  );
  const max = maxConnections();
  if (max !== null) server.maxConnections = max;
  const connections = trackConnections(server, (req) => {
    stopping.onAnswered(req);
    closeUnread(req, clock);
  });
  limitUnproved(server, connections, unproved);
  const stopping = closeOnceAnswered(server, connections);
  closeStalled(server, connections, stalledMs);
  answerHalfClosed(server, connections);
  refuseMalformed(server, connections);
  return server;
}

/** The open connections of a server, each with its unanswered requests. */
type Connections = ReadonlyMap<Socket, ReadonlySet<ServerResponse>>;

/** `answered` is called for each request whose response was sent or given up, after it left the unanswered ones. */
function trackConnections(server: Server, answered: (req: IncomingMessage) => void): Connections {
  const connections = new Map<Socket, Set<ServerResponse>>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, new Set());
    socket.on('close', () => connections.delete(socket));
  });
  server.on('request', (req, res) => {
    const unanswered = connections.get(req.socket);
    unanswered?.add(res);
    res.on('close', () => {
      unanswered?.delete(res);
      answered(req);
    });
  });
  return connections;
}

/**
 * Makes a stopping server close each connection once all its requests are answered; `onAnswered` is to be called for
 * each of them. By default Node cuts off a response that is written but not yet sent, keeps a connection that becomes
 * idle after the stop, and waits for connections that never sent a request, which browsers open in advance.
 */
function closeOnceAnswered(server: Server, connections: Connections) {
  // Called first by `server.close()`.
  server.closeIdleConnections = () => {
    for (const [socket, requests] of connections) if (requests.size === 0) socket.destroy();
  };
  return {
    onAnswered({ socket }: IncomingMessage): void {
      if (!server.listening && connections.get(socket)?.size === 0) socket.destroySoon();
    },
  };
}

/** The wait before the second probe; each further wait is twice as long, up to `MAX_PROBE_MS`. */
const FIRST_PROBE_MS = 20;
const MAX_PROBE_MS = 10_000;

/**
 * Answers callers that close their sending half after their request. A caller that has gone sends the same FIN, and
 * its upstream call must end at once. So until the answer begins, interim responses are written: the system of a
 * caller that has gone replies with a reset, which fails the next write. Once the answer has begun, a FIN means that
 * the caller has gone.
 */
function answerHalfClosed(server: Server, connections: Connections): void {
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket: Socket) => {
    socket.on('end', () => {
      const [current] = connections.get(socket) ?? [];
      // HTTP/1.0 has no interim responses.
      if (current?.headersSent === true || current?.req.httpVersion === '1.0') socket.end();
      else probe(socket, FIRST_PROBE_MS);
    });
  });

  function probe(socket: Socket, delayMs: number): void {
    const [current] = connections.get(socket) ?? [];
    if (current === undefined || current.headersSent || socket.destroyed) return;
    // On the same machine the reset arrives before the second write.
    current.writeProcessing();
    current.writeProcessing();
    // Real time: this waits for the network.
    setTimeout(probe, delayMs, socket, Math.min(2 * delayMs, MAX_PROBE_MS)).unref();
  }
}

/** Answers a request that is not HTTP, or whose head did not come in time, and closes the connection at once. */
function refuseMalformed(server: Server, connections: Connections): void {
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    // It comes again with each further read, until what was written is taken.
    if (!socket.writable) return;
    const hasBegun = [...(connections.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    // Browsers open connections in advance; a response without a request would confuse them.
    if (socket.bytesRead > 0 && !hasBegun) {
      const status = STATUS_OF.get(code ?? '') ?? '400 Bad Request';
      socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    }
    socket.destroySoon();
  });
}

const STATUS_OF: ReadonlyMap<string, string> = new Map([
  // Cookies ignore ports: browsers also send those of other local servers, which may be too many.
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

/** Polls within `stalledMs`: a stalled caller is closed at most a quarter of that time late. */
const STALLED_POLLS = 4;

/**
 * Closes connections whose caller has taken nothing of its response for `stalledMs`, and those that are idle as long; a
 * waiting caller is left alone. It polls, because a timer for each connection costs 1 to 2 % of the time of a
 * relayed event.
 */
function closeStalled(server: Server, connections: Connections, stalledMs: number): void {
  const seen = new WeakMap<Socket, { readonly moved: string; readonly polls: number }>();
  const timer = setInterval(() => {
    for (const [socket, requests] of connections) {
      const moved = movedBytes(socket);
      const before = seen.get(socket);
      const polls = before?.moved === moved ? before.polls + 1 : 0;
      seen.set(socket, { moved, polls });
      if (polls < STALLED_POLLS) continue;
      if (requests.size === 0 || socket.writableLength > 0) socket.destroy();
    }
  }, stalledMs / STALLED_POLLS);
  timer.unref();
  server.on('close', () => clearInterval(timer));
}

/**
 * Changes with each byte that the system took from the connection, and while nothing waits for it to be taken, with each
 * that it gave: what a caller sends does not show that it reads.
 */
function movedBytes(socket: Socket): string {
  const { writableLength } = socket;
  // Not documented, but the only place that shows the progress of one long write; Node's own timeouts read it.
  const handle: unknown = Reflect.get(socket, '_handle');
  const queued = isObject(handle) ? handle['writeQueueSize'] : 0;
  const given = writableLength === 0 ? socket.bytesRead : 0;
  return `${given} ${socket.bytesWritten} ${writableLength} ${String(queued)}`;
}

/** How many connections of one address may be open on which no request has been admitted yet. */
interface UnprovedLimits {
  readonly remote: number;
  /** All programs of this machine together. */
  readonly loopback: number;
}

export const UNPROVED_LIMITS: UnprovedLimits = { remote: 128, loopback: 1024 };

const unproved = new WeakMap<Socket, () => void>();

/** Takes a connection out of the limit, because a request on it was admitted. */
export function markProved(socket: Socket): void {
  unproved.get(socket)?.();
}

/**
 * Limits the connections of each address that have had no request admitted. Beyond the limit the oldest is closed, an
 * idle one first; otherwise connections that send nothing could lock out all others behind the same address.
 */
function limitUnproved(server: Server, connections: Connections, limits: UnprovedLimits): void {
  const byNetwork = new Map<string, Set<Socket>>();
  server.on('connection', (socket: Socket) => {
    const address = canonicalIp(socket.remoteAddress ?? '') ?? '';
    const network = networkOf(address);
    const sockets = byNetwork.get(network) ?? new Set();
    byNetwork.set(network, sockets);
    const max = isLoopback(address) ? limits.loopback : limits.remote;
    if (sockets.size >= max) close(leastUseful(sockets, connections));
    sockets.add(socket);
    const remove = () => {
      unproved.delete(socket);
      sockets.delete(socket);
      if (sockets.size === 0 && byNetwork.get(network) === sockets) byNetwork.delete(network);
    };
    unproved.set(socket, remove);
    socket.on('close', remove);
  });
}

function leastUseful(sockets: ReadonlySet<Socket>, connections: Connections): Socket | undefined {
  const [oldest] = sockets;
  return [...sockets].find((socket) => connections.get(socket)?.size === 0) ?? oldest;
}

function close(socket: Socket | undefined): void {
  if (socket === undefined) return;
  markProved(socket);
  socket.destroy();
}

/** The part of `process.report` that is used here; Node's types leave it out. */
interface ProcessReport {
  excludeNetwork?: boolean;
  getReport(): {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
  };
}

/** The share of file descriptors for callers; the rest is for upstreams, files and the database. */
const CALLERS_SHARE = 0.75;

/** How many connections the limit of open files leaves for callers; null if there is no such limit, as on Windows. */
export function maxConnections(): number | null {
  const files = (openFiles ??= readOpenFiles());
  return Number.isFinite(files) ? Math.max(1, Math.floor(files * CALLERS_SHARE)) : null;
}

/** Read once: a report takes 15 ms or more, as it waits for each thread. */
let openFiles: number | null = null;

/** The limit of open files; `NaN` where there is none. */
function readOpenFiles(): number {
  const report: ProcessReport = process.report;
  // Otherwise the report looks up the host names of open connections, one after the other.
  report.excludeNetwork = true;
  return Number(report.getReport().userLimits?.open_files?.soft);
}
