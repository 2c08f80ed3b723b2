import { createServer, type IncomingHttpHeaders } from 'node:http';
import { listening } from '../support/listening.ts';

/** What a path answers: JSON, a text, or a status with either. */
export type Route =
  string | { readonly status?: number; readonly body: unknown; readonly hangs?: boolean };

/** A server that answers GETs as an engine does. */
export interface FakeEngine {
  readonly url: string;
  readonly port: number;
  /** Method and path of each request, in order. */
  readonly asked: string[];
  readonly headers: IncomingHttpHeaders[];
  routes: Readonly<Record<string, Route>>;
  close(): Promise<void>;
}

/** Starts one on a free port; unknown paths are a 404 unless there is a route `*`. */
export async function startEngine(
  routes: FakeEngine['routes'],
  headers: Readonly<Record<string, string>> = {},
): Promise<FakeEngine> {
  const server = createServer((req, res) => {
    const path = req.url ?? '';
    engine.asked.push(`${req.method ?? ''} ${path}`);
    engine.headers.push(req.headers);
    const route = engine.routes[path] ?? engine.routes['*'] ?? { status: 404, body: 'Not Found' };
    const {
      status = 200,
      body,
      hangs = false,
    } = typeof route === 'string' ? { body: route } : route;
    if (hangs) return;
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    const isText = typeof body === 'string';
    res.setHeader('content-type', isText ? 'text/plain' : 'application/json');
    res.writeHead(status).end(isText ? body : JSON.stringify(body));
  });
  const engine: FakeEngine = {
    url: '',
    port: 0,
    asked: [],
    headers: [],
    routes,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  const port = await listening(server);
  return Object.assign(engine, { port, url: `http://127.0.0.1:${port}` });
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
