import { createServer, type RequestListener, type Server } from 'node:http';
import type { Clock } from '../clock.ts';
import {
  answerHalfClosed,
  closeOnceAnswered,
  closeStalled,
  refuseMalformed,
  trackConnections,
  limitUnproved,
  maxConnections,
  UNPROVED_LIMITS,
} from './connections.ts';
import { MeteredRequest } from './metered-request.ts';
import { closeUnread } from './server.ts';

/** Clients keep connections longer than Node's 5 s; closing first would race with their next request. */
const KEEP_ALIVE_MS = 75_000;
/** Time for a request head to arrive; Node's default of a minute lets slow callers hold connections that long. */
const HEAD_MS = 15_000;
/** A caller that has taken nothing of its response for this long is gone, or asleep. */
const STALLED_MS = 600_000;

/** Requests of one connection that wait for their answers; few clients send a second one before the first answer. */
const MAX_PIPELINED = 64;

/** An HTTP server, not listening yet, in which no caller can starve the others (docs/limits.md#connections). */
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
