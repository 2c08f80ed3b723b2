import type {
  IncomingHttpHeaders,
  IncomingMessage,
  RequestListener,
  Server,
  ServerResponse,
} from 'node:http';
import { ANSWER_HEADERS } from '#shared/answer-headers.ts';
import type { Config } from '../../config/schema.ts';
import { createGuardedServer } from '../../platform/http/guarded-server.ts';
import {
  peerAddress,
  isLoopbackHost,
  isWildcardHost,
  listen,
  type ListenFailure,
  literalHost,
  outsideHost,
  urlHost,
} from '../../platform/http/addresses.ts';
import { NOSNIFF } from '../../platform/http/responses.ts';
import type { Identify } from '../auth/keys.ts';
import { corsHeaders, preflightHeaders, refusal } from '../auth/origin-guard.ts';
import { type ChatDeps, handleChat } from '../chat/handler.ts';
import { newRequestId, NOT_ROUTED } from '../chat/response.ts';
import { type GatewayError, sendError } from '../http/errors.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { ENDPOINTS } from '../protocols/endpoints.ts';
import { INTERNAL_ERROR, METHOD_NOT_ALLOWED } from './express.ts';
import type { PatchResult } from '../../config/live-config.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';

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
      ? { ...cors, ...NOT_ROUTED, [ANSWER_HEADERS.requestId]: newRequestId() }
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
  const hops =
    typeof value === 'string' && value !== '' ? value.split(',').map((hop) => hop.trim()) : [];
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

export type Lifecycle = ReturnType<typeof createLifecycle>;

type Save = () => PatchResult | Promise<PatchResult>;

type MoveResult =
  /** `at_restart`: Linux does not let a program bind all addresses of a port while it listens on one of them, or the reverse. */
  | { readonly kind: 'now' | 'at_restart'; readonly saved: PatchResult }
  | { readonly kind: 'failed'; readonly message: string };

const NOT_NOW = {
  kind: 'failed',
  message: 'The gateway is starting, stopping or changing its address; try again in a moment.',
} as const;

/** How long readers of event streams may read to the end before their connections are closed. */
const STREAM_END_MS = 500;

/** Called with why the start is waiting; null if a taken port is not waited for. */
export type OnPortTaken = ((message: string) => void) | null;

interface LifecycleDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly onPortTaken: OnPortTaken;
}

/** `makeServer` is called once per bound address. */
export function createLifecycle(
  makeServer: () => Server,
  { clock, log, onPortTaken }: LifecycleDeps,
) {
  const streams = new Set<ServerResponse>();
  /** Servers of closed addresses, on which requests still run, and when they are through. */
  const retired = new Map<Server, Promise<void>>();
  let listening: Listening | null = null;
  let stopping = false;
  let isMoving = false;
  const urls = () => (listening === null ? null : urlsOf(listening));

  function retire(server: Server): void {
    // Otherwise a caller could send requests over an open connection for as long as it likes.
    server.prependListener('request', (_req, res) => void res.setHeader('connection', 'close'));
    retired.set(
      server,
      closed(server).then(() => void retired.delete(server)),
    );
  }

  /** Refuses new connections; resolves when all are closed, by force after `graceMs`. */
  async function close(graceMs: number): Promise<void> {
    const bound = listening?.listeners.map(({ server }) => server) ?? [];
    const cancelGrace = clock.after(graceMs, () => {
      for (const server of [...bound, ...retired.keys()]) server.closeAllConnections();
    });
    await Promise.all([...bound.map(closed), ...retired.values()]);
    cancelGrace();
  }

  /** Gives up the old addresses once the setting is saved, otherwise the new ones. */
  async function moveOn(now: Listening, next: Listening, save: Save): Promise<MoveResult> {
    const saved = stopping ? null : await save();
    if (saved?.kind !== 'patched' || stopping) {
      for (const each of next.listeners) if (!now.listeners.includes(each)) each.server.close();
      return saved === null ? NOT_NOW : { kind: 'at_restart', saved };
    }
    const old = now.listeners.filter((each) => !next.listeners.includes(each));
    listening = next;
    for (const { server } of old) retire(server);
    // Readers reconnect to an address that is still served.
    if (old.length > 0) for (const stream of streams) stream.end();
    log('info', 'listening', { url: urlsOf(next).outsideUrl });
    return { kind: 'now', saved };
  }

  return {
    /** Null once it listens; otherwise why it does not, for people. */
    async start({ gateway }: Config): Promise<string | null> {
      const bound = await bindWithRetries(gateway, makeServer, { clock, onPortTaken });
      if (bound.kind === 'failed')
        return bound.cause === 'taken'
          ? `${bound.message} Set it with INGLENOOK_PORT.`
          : bound.message;
      listening = bound.listening;
      log('info', 'started', { url: urlsOf(bound.listening).url });
      return null;
    },
    /** Refuses new requests, and ends running ones after `graceMs`. */
    async stop(graceMs: number): Promise<void> {
      stopping = true;
      for (const stream of streams) stream.end();
      const cancelTimer = clock.after(STREAM_END_MS, () => {
        for (const stream of streams) stream.destroy();
      });
      await close(graceMs);
      cancelTimer();
      log('info', 'stopped');
    },
    /** Listens on the addresses of another host, without a restart; `save` is called while both are served. */
    async move(hostAsSet: string, save: Save): Promise<MoveResult> {
      const now = listening;
      if (now === null || isMoving || stopping) return NOT_NOW;
      const host = literalHost(hostAsSet);
      if (host !== now.host && (isWildcardHost(host) || isWildcardHost(now.host)))
        return { kind: 'at_restart', saved: await save() };
      isMoving = true;
      const bound = await bindOnce(host, now.port, makeServer, now.listeners);
      const result = bound.kind === 'failed' ? bound : await moveOn(now, bound.listening, save);
      isMoving = false;
      return result;
    },
    isStopping: (): boolean => stopping,
    /** Empty before the start. */
    url: (): string => urls()?.url ?? '',
    baseUrl: (): string => urls()?.baseUrl ?? '',
    /** Whether it listens beyond loopback. */
    isShared: (): boolean =>
      listening?.listeners.some(({ address }) => !isLoopbackHost(address)) === true,
    /** The address for other machines; loopback if the gateway is bound to it. */
    outsideUrl: (): string => urls()?.outsideUrl ?? '',
    /** Ends an event stream, which never finishes by itself, when the gateway stops. */
    endAtStop: (stream: ServerResponse): void => {
      streams.add(stream);
      stream.on('close', () => streams.delete(stream));
    },
  };
}

/** The default port is in the range that Linux uses for outgoing connections, so it may be taken for a moment. */
const MAX_WAIT_MS = 5000;
const RETRY_MS = 250;
/** With port 0 the second address needs the first one's port, which may be in use there. */
const FREE_PORT_TRIES = 5;

/** Binds all addresses of a host, or none. */
async function bindWithRetries(
  { host: hostAsSet, port }: Config['gateway'],
  makeServer: () => Server,
  { clock, onPortTaken }: Pick<LifecycleDeps, 'clock' | 'onPortTaken'>,
): Promise<BindResult> {
  const host = literalHost(hostAsSet);
  const untilTicks = clock.ticks() + MAX_WAIT_MS;
  const never = new AbortController().signal;
  let hasSaid = false;
  for (let tries = 1; ; tries += 1) {
    const bound = await bindOnce(host, port, makeServer);
    if (bound.kind === 'bound') return bound;
    if (port === 0 && bound.isAdditional && tries < FREE_PORT_TRIES) continue;
    if (onPortTaken === null || bound.cause === 'other') return bound;
    if (clock.ticks() >= untilTicks) return bound;
    if (!hasSaid) onPortTaken(`${bound.message} Waiting up to ${MAX_WAIT_MS / 1000} s for it.`);
    hasSaid = true;
    await sleep(clock, RETRY_MS, never);
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

interface Listener {
  readonly address: string;
  readonly server: Server;
}

interface Listening {
  /** As configured, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly listeners: readonly Listener[];
}

type BindResult =
  | { readonly kind: 'bound'; readonly listening: Listening }
  | {
      readonly kind: 'failed';
      /** Unless it is `other`, the port or the address may become available later. */
      readonly cause: ListenFailure;
      /** An address other than the one that was asked for is the cause. */
      readonly isAdditional: boolean;
      readonly message: string;
    };

const LOOPBACK = ['127.0.0.1', '::1'] as const;

/**
 * The addresses at which a gateway with this host listens. IPv4 loopback includes `::1`, because `localhost` may
 * resolve to either; an outside address includes loopback, so that the apps of this machine keep theirs.
 */
function addressesFor(host: string): readonly string[] {
  if (host === '127.0.0.1') return LOOPBACK;
  return isWildcardHost(host) || isLoopbackHost(host) ? [host] : [host, ...LOOPBACK];
}

/** Whether the gateway can run without an additional address: one that is missing, or loopback beside an outside host. */
const isOptional = (host: string, cause: ListenFailure): boolean =>
  cause === 'absent' || !isLoopbackHost(host);

/** Takes what is bound already from `before`. */
async function bindOnce(
  host: string,
  port: number,
  makeServer: () => Server,
  before: readonly Listener[] = [],
): Promise<BindResult> {
  const wanted = addressesFor(host);
  const kept = before.filter(({ address }) => wanted.includes(address));
  const listeners: Listener[] = [];
  let boundPort = port;
  for (const address of wanted) {
    if (kept.some((each) => each.address === address)) continue;
    const server = makeServer();
    const bound = await listen(server, address, boundPort);
    if (bound.kind === 'listening') {
      boundPort = bound.port;
      listeners.push({ address, server });
    } else if (address === host || !isOptional(host, bound.cause)) {
      for (const each of listeners) each.server.close();
      return { ...bound, isAdditional: address !== host };
    }
  }
  return {
    kind: 'bound',
    listening: { host, port: boundPort, listeners: [...kept, ...listeners] },
  };
}

function urlsOf({ host, port, listeners }: Listening) {
  const isOnLoopback = listeners.some(({ address }) => address === LOOPBACK[0]);
  const reachable =
    host === '0.0.0.0' || isOnLoopback ? LOOPBACK[0] : host === '::' ? LOOPBACK[1] : host;
  const outside = outsideHost(host);
  const named = reachable === LOOPBACK[0] ? 'localhost' : urlHost(reachable);
  return {
    /** The window's address, such as `http://127.0.0.1:47900`. */
    url: `http://${urlHost(reachable)}:${port}`,
    /** For other machines, as far as it is known; `url` if bound to loopback. */
    outsideUrl: `http://${urlHost(outside)}:${port}`,
    /** For apps, such as `http://localhost:47900/v1`. */
    baseUrl: `http://${named}:${port}/v1`,
  };
}
