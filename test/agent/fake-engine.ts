import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { text } from 'node:stream/consumers';
import { listening } from '../support/listening.ts';

/** What a path answers: JSON, a text, or a status with either. */
export type Route =
  string | { readonly status?: number; readonly body: unknown; readonly hangs?: boolean };

/** A request to a fake engine. */
export interface EngineCall {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

/** Starts a server on a free port that answers as an engine does. */
export async function startAnswering(
  routeOf: (call: EngineCall) => Route,
  headers: Readonly<Record<string, string>> = {},
) {
  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = req;
    const route = routeOf({ method, path, body: await text(req), headers: req.headers });
    const { status = 200, body, hangs } = typeof route === 'string' ? { body: route } : route;
    if (hangs === true) return;
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    const isText = typeof body === 'string';
    res.setHeader('content-type', isText ? 'text/plain' : 'application/json');
    res.writeHead(status).end(isText ? body : JSON.stringify(body));
  }
  const server = createServer((req, res) => void respond(req, res));
  const port = await listening(server);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** A server that answers GETs as an engine does. */
export type FakeEngine = Awaited<ReturnType<typeof startEngine>>;

/** Starts one; unknown paths are a 404 unless there is a route `*`. */
export async function startEngine(
  routes: Readonly<Record<string, Route>>,
  headers: Readonly<Record<string, string>> = {},
) {
  /** Method and path of each request, in order. */
  const asked: string[] = [];
  const heard: IncomingHttpHeaders[] = [];
  /** It answers so many of those in `asked` like one that loads. */
  const loading = 0;
  const engine = { routes, asked, headers: heard, loading };
  const server = await startAnswering((call) => {
    asked.push(`${call.method} ${call.path}`);
    heard.push(call.headers);
    if (asked.length <= engine.loading) return { status: 503, body: { error: 'Loading model' } };
    return engine.routes[call.path] ?? engine.routes['*'] ?? { status: 404, body: 'Not Found' };
  }, headers);
  return Object.assign(engine, server);
}

/** An OpenAI model list, signed by an owner or by nobody. */
export function listed(owner: string | null, ...ids: readonly string[]): Route {
  const data = ids.map((id) => ({
    id,
    object: 'model',
    created: 1,
    ...(owner === null ? {} : { owned_by: owner }),
  }));
  return { body: { object: 'list', data } };
}

/** JSON with 200. */
export const ok = (body: unknown): Route => ({ body });
