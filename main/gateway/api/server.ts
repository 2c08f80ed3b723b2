import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Config } from '../../config/schema.ts';
import { NOSNIFF } from '../../platform/http/responses.ts';
import { closeOnceAnswered, closeUnread } from '../../platform/http/server.ts';
import { newRequestId } from '../../platform/secrets.ts';
import type { Identify } from '../auth/identity.ts';
import { corsHeaders, preflightHeaders, refusal } from '../auth/origin-guard.ts';
import type { ChatDeps } from '../chat/handler.ts';
import { NOT_ROUTED } from '../chat/respond.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendError } from '../http/responses.ts';
import { INTERNAL_ERROR, METHOD_NOT_ALLOWED } from './express.ts';
import { ENDPOINT_ROUTES } from './routes.ts';

interface ServerDeps {
  readonly config: () => Config;
  readonly identify: Identify;
  readonly chat: ChatDeps;
  /** Serves every path that is no endpoint's. */
  readonly otherwise: RequestListener;
  readonly isStopping: () => boolean;
  readonly onBug: (error: unknown) => void;
}

/** Clients keep connections longer than Node's 5 s; closing first would race with their next request. */
const KEEP_ALIVE_MS = 75_000;

const SHUTTING_DOWN: GatewayError = {
  status: 503,
  code: 'shutting_down',
  message: 'The gateway is stopping and takes no new requests.',
  retryAfterMs: 5000,
};

/** An HTTP server that does not listen yet; one per address. */
export function createGatewayServer(deps: ServerDeps): Server {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) =>
    dispatch(req, res, deps),
  );
  closeOnceAnswered(server);
  closeUnread(server, deps.chat.clock);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable) return;
    // Cookies ignore ports: browsers also send those of other local servers, which may be too many.
    const status =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? '431 Request Header Fields Too Large'
        : '400 Bad Request';
    socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  });
  return server;
}

const ENDPOINT_AT: ReadonlyMap<string, (typeof ENDPOINT_ROUTES)[number]> = new Map(
  ENDPOINT_ROUTES.flatMap((route) => route.endpoint.paths.map((path) => [path, route])),
);

/** The order of the checks is the middleware: guard, stop, preflight, then route. */
function dispatch(req: IncomingMessage, res: ServerResponse, deps: ServerDeps): void {
  const { gateway } = deps.config();
  const route = ENDPOINT_AT.get(pathOf(req));
  const cors = corsHeaders(req.headers, gateway.allowedOrigins);
  const headers = () =>
    route !== undefined ? { ...cors, ...NOT_ROUTED, 'x-gateway-request-id': newRequestId() } : cors;
  const refused = refusal(req.headers, {
    allowedHosts: gateway.allowedHosts,
    allowedOrigins: gateway.allowedOrigins,
    localAddress: () => req.socket.localAddress,
  });
  if (refused !== null) {
    sendError(res, refused, headers());
  } else if (deps.isStopping()) {
    sendError(res, SHUTTING_DOWN, { ...headers(), connection: 'close' });
  } else if (req.method === 'OPTIONS' && 'access-control-allow-origin' in cors) {
    res.writeHead(204, { ...NOSNIFF, ...cors, ...preflightHeaders(req.headers) }).end();
  } else if (route === undefined) {
    for (const [name, value] of Object.entries(cors)) res.setHeader(name, value);
    deps.otherwise(req, res);
  } else if (req.method !== route.method) {
    sendError(res, METHOD_NOT_ALLOWED, { ...headers(), allow: route.method });
  } else {
    const { endpoint } = route;
    const caller = { endpoint, identity: deps.identify(req.headers), cors };
    route.handle(req, res, caller, deps.chat).catch((error: unknown) => {
      deps.onBug(error);
      if (res.headersSent) res.destroy();
      else sendError(res, INTERNAL_ERROR, headers());
    });
  }
}

function pathOf(req: IncomingMessage): string {
  const url = req.url ?? '';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
