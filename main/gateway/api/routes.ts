import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Request, type Response } from 'express';
import type { Clock } from '../../platform/clock.ts';
import { CONTROL_REQUIRED, type Identify, keyError } from '../auth/identity.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendError } from '../http/responses.ts';
import {
  type SmallBodyReader,
  createSmallBodyReader,
  MAX_SMALL_BODY_BYTES,
} from '../http/small-bodies.ts';

/**
 * Who may use a route (docs/http-api.md#who-may). Agents sign the bytes that they send: their bodies are left unread,
 * and who they are is for the registry to see.
 */
export type Who = 'anyone' | 'readers' | 'control' | 'agents';

/** One route: everything about it on one line of a table. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly paths: readonly string[];
  readonly who: Who;
  readonly handle: (req: Request, res: Response) => void | Promise<void>;
}

/** What the routes need beside themselves. */
export interface RoutesDeps {
  readonly identify: Identify;
  /** Directory of the built window; a page that says how to build it is served where it is missing. */
  readonly windowDirectory: string;
  readonly clock: Clock;
  readonly onBug: (error: unknown) => void;
}

/** The window loads nothing from elsewhere and calls its own origin only (docs/security.md#promises). */
const WINDOW_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

const REGISTER = {
  GET: 'get',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'delete',
} as const;

/** Every route but chat: chat is answered ahead of Express, which would cost CPU time on each request. */
export function createRoutes(routes: readonly Route[], deps: RoutesDeps): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  const json = express.json({ limit: MAX_SMALL_BODY_BYTES, strict: true });
  const watched = watch(createSmallBodyReader(deps.clock));
  for (const [path, methods] of methodsByPath(routes)) {
    for (const { method, who, handle } of routes.filter(({ paths }) => paths.includes(path))) {
      const register = REGISTER[method];
      const hasJson = method !== 'GET' && who !== 'agents';
      app[register](path, permit(who, deps.identify), ...(hasJson ? [watched, json] : []), handle);
    }
    // At once, so that a fixed path is not taken for an id by another route.
    app.all(path, (_req: Request, res: Response) => {
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
  app.use((req, res) => sendError(res, notFound(req.path)));
  app.use(errorHandler(deps.onBug));
  return (req: IncomingMessage, res: ServerResponse) => app(req, res);
}

function permit(who: Who, identify: Identify) {
  return (req: Request, res: Response, next: () => void): void => {
    if (who === 'anyone' || who === 'agents') {
      next();
      return;
    }
    const identity = identify(req.headers);
    if (who === 'readers' && !identity.reader) sendError(res, keyError(req.headers));
    else if (who === 'control' && !identity.control) sendError(res, CONTROL_REQUIRED);
    else next();
  };
}

/** Beside the parser, which keeps what comes as the pieces it came in and waits for minutes. */
function watch(arrivals: SmallBodyReader) {
  return (req: Request, res: Response, next: () => void): void => {
    void arrivals.read(req, res);
    next();
  };
}

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const { method, paths } of routes) {
    const names = method === 'GET' ? ['GET', 'HEAD'] : [method];
    for (const path of paths) methods.set(path, [...(methods.get(path) ?? []), ...names]);
  }
  return methods;
}

/** The chat endpoint and the window have their own 405 and 404; these are for everything else. */
export const METHOD_NOT_ALLOWED: GatewayError = {
  status: 405,
  code: 'method_not_allowed',
  message: 'This path does not take that method; the Allow header says which it takes.',
};

function notFound(path: string): GatewayError {
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path;
  return {
    status: 404,
    code: 'not_found',
    message: `There is no ${shown} here. Chat completions go to /v1/chat/completions.`,
  };
}

/** The one place where an unexpected error becomes an answer. */
function errorHandler(onBug: (error: unknown) => void): ErrorRequestHandler {
  return (error: unknown, _req, res, _next) => {
    const status = statusOf(error);
    if (status === 413) {
      const message = `The body is over ${MAX_SMALL_BODY_BYTES} bytes.`;
      sendError(res, { status, code: 'body_too_large', message });
    } else if (status === 415) {
      const message = 'The body must be JSON in UTF-8, plain or compressed as gzip, deflate or br.';
      sendError(res, { status, code: 'unsupported_media_type', message });
    } else if (status !== null && status < 500) {
      const message = 'The request could not be read: the body must be valid JSON.';
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
  message: 'The gateway failed at this request; its log says more.',
};

function statusOf(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('status' in error)) return null;
  return typeof error.status === 'number' ? error.status : null;
}

const UNBUILT_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Switchyard</title>
<h1>The window is not built</h1><p>The gateway runs. Stop it and start it again with <code>npm start</code>, which builds the window first.</p></html>`;
