import type {
  IncomingHttpHeaders,
  IncomingMessage,
  RequestListener,
  Server,
  ServerResponse,
} from 'node:http';
import type { Config } from '../../config/schema.ts';
import { createGuardedServer } from '../../platform/http/guarded-server.ts';
import { peerAddress } from '../../platform/http/addresses.ts';
import { NOSNIFF } from '../../platform/http/responses.ts';
import type { Identify } from '../auth/identity.ts';
import { corsHeaders, preflightHeaders, refusal } from '../auth/origin-guard.ts';
import { type ChatDeps, handleChat } from '../chat/handler.ts';
import { newRequestId, NOT_ROUTED } from '../chat/response.ts';
import { type GatewayError, sendError } from '../http/errors.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { ENDPOINTS } from '../protocols/endpoints.ts';
import { INTERNAL_ERROR, METHOD_NOT_ALLOWED } from './express.ts';

interface ServerDeps {
  readonly config: () => Config;
  /** Random; marks the requests that this gateway passes on. */
  readonly id: string;
  readonly identify: Identify;
  readonly chat: ChatDeps;
  readonly otherwise: RequestListener;
  readonly isStopping: () => boolean;
  readonly refusedOrigin: (origin: string) => void;
  readonly refusedKey: (address: string | null) => void;
  readonly onBug: (error: unknown) => void;
}

const SHUTTING_DOWN: GatewayError = {
  status: 503,
  code: 'shutting_down',
  message: 'The gateway is stopping and takes no new requests.',
  retryAfterMs: 5000,
};

const LOOP: GatewayError = {
  status: 508,
  code: 'loop_detected',
  message:
    'This request has already passed through this gateway: the address of a source leads back here.',
};

/** An HTTP server that does not listen yet; one per address. */
export function createGatewayServer(deps: ServerDeps): Server {
  return createGuardedServer((req, res) => dispatch(req, res, deps), deps.chat.clock);
}

/** They bypass Express, which would cost CPU time on each request. All take POST only. */
const ENDPOINT_AT: ReadonlyMap<string, ApiEndpoint> = new Map(
  ENDPOINTS.flatMap((endpoint) => endpoint.paths.map((path) => [path, endpoint])),
);

/** The order of the checks matters: guard, stop, preflight, then route. */
function dispatch(req: IncomingMessage, res: ServerResponse, deps: ServerDeps): void {
  const { gateway } = deps.config();
  const endpoint = ENDPOINT_AT.get(pathOf(req));
  const cors = corsHeaders(req.headers, gateway.allowedOrigins);
  const headers = () =>
    endpoint !== undefined
      ? { ...cors, ...NOT_ROUTED, 'x-gateway-request-id': newRequestId() }
      : cors;
  const refused = refusal(req.headers, {
    allowedHosts: gateway.allowedHosts,
    allowedOrigins: gateway.allowedOrigins,
    localAddress: () => req.socket.localAddress,
  });
  if (refused !== null) {
    const { origin } = req.headers;
    if (refused.code === 'origin_not_allowed' && origin !== undefined) deps.refusedOrigin(origin);
    sendError(res, refused, headers());
  } else if (deps.isStopping()) {
    sendError(res, SHUTTING_DOWN, { ...headers(), connection: 'close' });
  } else if (req.method === 'OPTIONS' && 'access-control-allow-origin' in cors) {
    res.writeHead(204, { ...NOSNIFF, ...cors, ...preflightHeaders(req.headers) }).end();
  } else if (endpoint === undefined) {
    for (const [name, value] of Object.entries(cors)) res.setHeader(name, value);
    deps.otherwise(req, res);
  } else if (req.headers.upgrade?.toLowerCase() === 'websocket') {
    sendError(res, NO_WEBSOCKET, {
      ...headers(),
      upgrade: 'HTTP/1.1',
      connection: 'close, upgrade',
    });
  } else if (req.method !== 'POST') {
    sendError(res, METHOD_NOT_ALLOWED, { ...headers(), allow: 'POST' });
  } else if (!addHop(req.headers, deps.id)) {
    sendError(res, LOOP, headers(), { clock: deps.chat.clock, maxRestBytes: 0 });
  } else {
    const identity = deps.identify(req.headers);
    if (!identity.reader) deps.refusedKey(peerAddress(req.socket));
    const caller = { endpoint, identity, cors };
    handleChat(req, res, caller, deps.chat).catch((error: unknown) => {
      deps.onBug(error);
      if (res.headersSent) res.destroy();
      else sendError(res, INTERNAL_ERROR, headers());
    });
  }
}

function pathOf(req: IncomingMessage): string {
  const { url = '' } = req;
  // A caller that takes this for a proxy sends the whole URL (RFC 9112, 3.2.2).
  if (!url.startsWith('/') && URL.canParse(url)) return new URL(url).pathname;
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

const trimmed = (text: string) => text.trim();

/** The gateways that a request has passed through, by their random IDs, separated by commas. */
const HOPS_HEADER = 'x-gateway-hops';
/** A gateway in front of another makes two hops; more mean a loop through gateways that drop part of the header. */
const MAX_HOPS = 5;

/**
 * Adds the gateway `id` to the headers that are forwarded. False if the request has already passed through it, or has
 * been forwarded too often.
 */
export function addHop(headers: IncomingHttpHeaders, id: string): boolean {
  const value = headers[HOPS_HEADER];
  const hops = typeof value === 'string' && value !== '' ? value.split(',').map(trimmed) : [];
  if (hops.includes(id) || hops.length >= MAX_HOPS) return false;
  headers[HOPS_HEADER] = [...hops, id].join(',');
  return true;
}

/** With another status Codex tries for ten seconds before it sends its request by HTTP (openai/codex#43353). */
const NO_WEBSOCKET: GatewayError = {
  status: 426,
  code: 'upgrade_required',
  message: 'There are no WebSockets here: send the request by HTTP, with POST.',
};
