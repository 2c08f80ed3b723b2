import express, { type ErrorRequestHandler, type Request, type Response } from 'express';
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  RequestListener,
  ServerResponse,
} from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import { peerAddress } from '../../platform/http/addresses.ts';
import { type BodyRefusal, readBody } from '../../platform/http/bodies.ts';
import { NOSNIFF, sendBody, sendJson, SHORT_REST_BYTES } from '../../platform/http/responses.ts';
import type { Access, Route } from '../../platform/http/routes.ts';
import { memberOf, parseJson } from '../../platform/json.ts';
import { CONTROL_REQUIRED, type Identify, keyError } from '../auth/keys.ts';
import { type GatewayError, isOllamaPath, notFound, sendError } from '../http/errors.ts';
import { ENDPOINTS } from '../protocols/endpoints.ts';

interface ExpressDeps {
  readonly identify: Identify;
  /** An app's key was wrong or missing. */
  readonly refusedKey: (address: string | null) => void;
  /** The built window; while it is missing, `/` serves a page that says how to build it. */
  readonly windowDirectory: string;
  readonly clock: Clock;
  readonly gatewayUrl: (req: Request) => string;
  readonly onBug: (error: unknown) => void;
}

/** The window loads from and calls its own origin only (docs/understand/security.md#what-is-protected). */
const WINDOW_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
  // A page that opened this one gets no handle to it, and no other site can embed its files.
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  ...NOSNIFF,
} as const;

/** Serves `routes`, then the window's files. */
export function createExpressListener(
  routes: readonly Route[],
  deps: ExpressDeps,
): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  const handlerOf = createHandlers(deps);
  const places = routes.flatMap((each) => each.paths.map((path) => ({ ...each, path })));
  for (const [path, all] of Map.groupBy(places, (each) => each.path)) {
    // A path is compiled once, whatever its methods.
    const at = app.route(path);
    for (const each of all) {
      const register = each.method.toLowerCase() as Lowercase<Route['method']>;
      at[register](permit(each.access, deps), handlerOf(each));
    }
    const methods = all.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : method));
    // Registered right after its path, so that a fixed path never matches a later route as an id.
    at.all((_req: Request, res: Response) => {
      sendError(res, METHOD_NOT_ALLOWED, { allow: methods.join(', ') });
    });
  }
  app.use((_req, res, next) => {
    res.set(WINDOW_HEADERS);
    next();
  });
  app.use(express.static(deps.windowDirectory, { index: 'index.html', redirect: false }));
  app.get('/', (_req, res) => void res.status(200).type('html').send(UNBUILT_PAGE));
  app.all('/', (_req, res) => sendError(res, METHOD_NOT_ALLOWED, { allow: 'GET, HEAD' }));
  app.use((req, res) => sendError(res, nothingAt(req.path)));
  app.use(errorHandler(deps.onBug));
  return (req: IncomingMessage, res: ServerResponse) => app(req, res);
}

function permit(
  access: Access,
  { identify, refusedKey }: Pick<ExpressDeps, 'identify' | 'refusedKey'>,
) {
  return (req: Request, res: Response, next: () => void): void => {
    if (access === 'anyone' || access === 'agents') {
      next();
      return;
    }
    const identity = identify(req.headers);
    if (access === 'callers' && !identity.reader) {
      // A dashboard that is locked asks again and again.
      if (!req.path.startsWith('/api/')) refusedKey(peerAddress(req.socket));
      sendError(res, keyError(req.headers));
    } else if (access === 'control' && !identity.control) sendError(res, CONTROL_REQUIRED);
    else next();
  };
}

export const METHOD_NOT_ALLOWED: GatewayError = {
  status: 405,
  code: 'method_not_allowed',
  message: 'This path does not accept that method; the Allow header lists those that it accepts.',
};

const OLLAMA_INSTEAD =
  "Ollama's own API is not served: set the app to an OpenAI-compatible provider with a base URL ending in /v1.";

function nothingAt(path: string): GatewayError {
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path;
  const instead = isOllamaPath(path) ? OLLAMA_INSTEAD : (meantBy(path) ?? SERVED);
  return notFound(`There is nothing at ${shown}. ${instead}`);
}

const APP_PATHS = [...ENDPOINTS.flatMap(({ paths }) => paths), '/v1/models'].filter((path) =>
  path.startsWith('/v1/'),
);
const SERVED = `Apps can call ${APP_PATHS.join(', ')}.`;
/** The longest first: one may end as another does. */
const MEANT_PATHS = APP_PATHS.toSorted((a, b) => b.length - a.length);

/** Where the request belongs if its app has a base URL with `/v1` twice, without it, or with more behind it. */
function meantBy(path: string): string | null {
  const asked = path.replace(/\/$/, '');
  const meant = MEANT_PATHS.find((at) => asked.endsWith(at.slice('/v1'.length)));
  return meant === undefined ? null : `It belongs at ${meant}: check the base URL of the app.`;
}

/** Express refuses paths that cannot be decoded; any other error is a bug. */
function errorHandler(onBug: (error: unknown) => void): ErrorRequestHandler {
  return (error: unknown, _req, res, _next) => {
    const status = memberOf(error, 'status');
    if (typeof status === 'number' && status < 500) {
      const message = 'The request could not be read: its path is not valid.';
      sendError(res, { status: 400, code: 'invalid_request', message });
    } else {
      onBug(error);
      sendError(res, INTERNAL_ERROR);
    }
  };
}

export const INTERNAL_ERROR: GatewayError = {
  status: 500,
  code: 'internal_error',
  message: 'The gateway failed to handle this request; its log says why.',
};

const UNBUILT_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Inglenook</title>
<h1>The dashboard is not built</h1><p>The gateway is running. Stop it and start it again with <code>npm start</code>, which builds the dashboard first.</p></html>`;

const NO_BODY = Buffer.alloc(0);

/** A handler for each route: one that returns its answer is asked for it, and the answer sent. */
function createHandlers({ clock, gatewayUrl }: ExpressDeps) {
  // Apart, so that agents, which are known only by their whole message, keep nobody else waiting.
  const ofAgents = createSmallBodyReader(clock);
  const ofOthers = createSmallBodyReader(clock);
  return (route: Route) => {
    if ('handle' in route) return route.handle;
    const { access, answer } = route;
    const isAgent = access === 'agents';
    return async (req: Request, res: Response): Promise<void> => {
      const { method, headers, query } = req;
      const isRead = method === 'GET' || method === 'HEAD';
      const body = isRead ? NO_BODY : await (isAgent ? ofAgents : ofOthers).read(req, res);
      if (body === null) return;
      // Signatures cover the bytes.
      const json = isAgent ? undefined : jsonIn(headers, body);
      if (json === null) {
        sendError(res, NO_JSON);
        return;
      }
      const given = await answer({
        method,
        path: req.url.split('?', 1)[0] ?? '',
        headers,
        params: req.params as Readonly<Record<string, string>>,
        query,
        json,
        body,
        ip: peerAddress(req.socket) ?? '',
        socket: req.socket,
        get gatewayUrl() {
          return gatewayUrl(req);
        },
      });
      if (given.kind === 'refused') sendError(res, given, given.headers);
      else if (given.kind === 'file')
        sendBody(res, 200, given.body, { 'content-type': given.type });
      // Express adds an entity tag, and answers 304 to a reader that names it.
      else if (isRead) res.set(READ_HEADERS).status(given.status).json(given.body);
      else sendJson(res, given.status, given.body);
    };
  };
}

const READ_HEADERS = { 'cache-control': 'no-store', ...NOSNIFF };

/** Undefined if none was sent as JSON; null for what is neither an object nor a list. */
function jsonIn({ 'content-type': type = '' }: IncomingHttpHeaders, body: Buffer): unknown {
  if (body.length === 0 || !/^application\/json\s*(;|$)/i.test(type)) return undefined;
  const json = parseJson(body.toString());
  return typeof json === 'object' ? json : null;
}

const NO_JSON: GatewayError = {
  status: 400,
  code: 'invalid_request',
  message: 'The request could not be read: the body must be valid JSON.',
};

/** No message of an agent or of the window is longer. */
const MAX_SMALL_BODY_BYTES = 64 * 1024;
/** Enough for the largest body on a slow connection. */
const MAX_ARRIVAL_MS = 5000;
/** Most bodies arrive with their headers, so few are pending even with a thousand machines. */
const MAX_PENDING = 64;

const REFUSALS: Readonly<Record<BodyRefusal | 'compressed' | 'late', GatewayError>> = {
  compressed: {
    status: 415,
    code: 'unsupported_media_type',
    message: 'The body must be plain JSON in UTF-8, not compressed.',
  },
  too_large: {
    status: 413,
    code: 'body_too_large',
    message: `The body is over ${MAX_SMALL_BODY_BYTES} bytes.`,
  },
  late: {
    status: 408,
    code: 'request_timeout',
    message: 'The body did not arrive in time; send it right after the headers.',
  },
  no_room: {
    status: 503,
    code: 'overloaded',
    message: 'Too many messages are arriving at once; try again in a moment.',
    retryAfterMs: 1000,
  },
};

/**
 * Reads small bodies, also of senders that cannot be authenticated before the body is complete. At the limit of pending
 * bodies the oldest is refused for a new one; otherwise connections that send nothing could lock out all senders. The
 * parsers of Express read a refused body to its end before they answer, so its sender could go on for ever.
 */
function createSmallBodyReader(clock: Clock) {
  const pending = new Set<(refusal: 'no_room') => void>();

  function readWithLimits(req: IncomingMessage) {
    return new Promise<Buffer | BodyRefusal | 'late' | 'aborted'>((resolve) => {
      const settle = (end: Parameters<typeof resolve>[0]) => {
        cancelTimer();
        pending.delete(settle);
        resolve(end);
      };
      const cancelTimer = clock.after(MAX_ARRIVAL_MS, () => settle('late'));
      const [oldest] = pending;
      if (pending.size >= MAX_PENDING) oldest?.('no_room');
      pending.add(settle);
      void readBody(req, { maxBytes: MAX_SMALL_BODY_BYTES }).then(settle);
    });
  }

  return {
    /** Null if an error was sent, or the sender has disconnected. */
    async read(req: IncomingMessage, res: ServerResponse): Promise<Buffer | null> {
      if ((req.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
        sendError(res, REFUSALS.compressed, {}, { clock });
        return null;
      }
      const end = await readWithLimits(req);
      if (typeof end !== 'string') return end;
      if (end === 'aborted') return null;
      sendError(res, REFUSALS[end], {}, { clock, maxRestBytes: SHORT_REST_BYTES });
      return null;
    },
  };
}
