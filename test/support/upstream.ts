import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { listening, refusing } from './listening.ts';
import { createLooks } from './looks.ts';

/** One POST that reached the upstream. */
export interface UpstreamCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names as they came, for asserting what is not there. */
  readonly headerNames: readonly string[];
  readonly body: Buffer;
  readonly json: Record<string, unknown>;
  readonly res: ServerResponse;
  readonly socket: Socket;
  /** Which connection it came on, counted from 1. */
  readonly connection: number;
  /** Resolves when the connection is closed. */
  readonly gone: Promise<void>;
}

/** What the gateway asks by itself: a health check or a list of models. */
export interface UpstreamGet {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly res: ServerResponse;
}

/** What an upstream does with a call. */
export type Script = (call: UpstreamCall) => void | Promise<void>;

/** A scripted upstream on a real socket. */
export type Upstream = Awaited<ReturnType<typeof startUpstream>>;

/** Starts one; several scripts answer the first calls in turn, the last one all others. */
export async function startUpstream(...scripts: readonly Script[]) {
  const calls: UpstreamCall[] = [];
  const gets: UpstreamGet[] = [];
  const { look, until } = createLooks();
  const connections = new Map<Socket, number>();
  const server = createServer((req, res) => void receive(req, res));
  server.on('connection', (socket) => {
    // One listener a call, on a connection that is used again and again.
    socket.setMaxListeners(0);
    connections.set(socket, connections.size + 1);
  });

  async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method === 'GET') {
      const get = { path: req.url ?? '', headers: req.headers, res };
      gets.push(get);
      look();
      upstream.answerGet(get);
      return;
    }
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const call: UpstreamCall = {
      path: req.url ?? '',
      headers: req.headers,
      headerNames: req.rawHeaders
        .filter((_, index) => index % 2 === 0)
        .map((name) => name.toLowerCase()),
      body,
      json: jsonOf(req, body),
      res,
      socket: req.socket,
      connection: connections.get(req.socket) ?? 0,
      gone: new Promise((resolve) => req.socket.once('close', () => resolve())),
    };
    calls.push(call);
    look();
    const script = scripts[calls.length - 1] ?? upstream.script;
    await script(call);
  }

  let port = 0;
  let release = () => {};
  const upstream = {
    /** `http://127.0.0.1:<port>`. */
    url: '',
    calls,
    /** What the next calls meet, behind those that have a script of their own. */
    script: scripts.at(-1) ?? hang,
    /** The next call to come, or the n-th (from 1) if it came already. */
    call: (n: number) => until(() => calls[n - 1]),
    /** Resolves when the connection of the n-th call is closed. */
    gone: async (n: number) => (await upstream.call(n)).gone,
    /** GET requests, in order; `script` and `calls` are about chat only. */
    gets,
    /** Answers those; 404 unless a test sets another. */
    answerGet: json(404, {}) as (get: UpstreamGet) => void,
    /** The n-th GET, as `call`. */
    get: (n: number) => until(() => gets[n - 1]),
    /** Opens the same port again. */
    async reopen() {
      release();
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    /** Closes the port: later connections are refused. */
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      release = await refusing(port);
    },
  };
  port = await listening(server);
  return Object.assign(upstream, { url: `http://127.0.0.1:${port}` });
}

/** An empty object for a form. */
function jsonOf({ headers }: IncomingMessage, body: Buffer): Record<string, unknown> {
  if (headers['content-type'] !== 'application/json') return {};
  return JSON.parse(body.toString()) as Record<string, unknown>;
}

/** Never answers. */
export const hang: Script = () => {};

/** Answers a call, or a GET. */
type Reply = (to: Pick<UpstreamGet, 'res'>) => void;

/** Answers with JSON. */
export function json(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  return ({ res }) => {
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
}

/** An error in OpenAI's shape. */
export function error(
  status: number,
  message = 'no',
  code: string | null = null,
  headers = {},
): Reply {
  return json(status, { error: { message, type: 'x', code, param: null } }, headers);
}

/** Lists models, by their ids or with what is said of them. */
export const lists = (...models: readonly (string | object)[]): Reply =>
  json(200, {
    object: 'list',
    data: models.map((each) => (typeof each === 'string' ? { id: each, object: 'model' } : each)),
  });

/** Answers with an event stream, one write per piece. */
export function sse(...pieces: readonly (string | Buffer)[]): Script {
  return ({ res }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) res.write(piece);
    res.end();
  };
}

/** Destroys the connection before any byte of a response. */
export const reset: Script = ({ socket }) => void socket.destroy();

/** A stream's head and pieces, then nothing: the connection stays open. */
export function stall(...pieces: readonly string[]): Reply {
  return ({ res }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    for (const piece of pieces) res.write(piece);
  };
}

/** Begins a stream and sends no event. */
export const headOnly = stall();

/** The beginning of a JSON answer, or of another body of this status. */
export function half(text: string, status = 200): Reply {
  return ({ res }) => {
    res.writeHead(status, { 'content-type': 'application/json' }).flushHeaders();
    if (text !== '') res.write(text);
  };
}

/** A stream's head and pieces, then the connection breaks. */
export function cut(...pieces: readonly string[]): Script {
  return (call) => {
    stall(...pieces)(call);
    setImmediate(() => call.socket.destroy());
  };
}

/** One chunk event. */
export function chunk(delta: Record<string, unknown>, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`;
}

export const ROLE = chunk({ role: 'assistant', content: '' });
export const STOP = chunk({}, 'stop');
export const DONE = 'data: [DONE]\n\n';

/** The chunks of a whole streamed answer, one per word. */
export function answerChunks(text: string): string[] {
  const words = text.split(/(?<= )/);
  return [ROLE, ...words.map((word) => chunk({ content: word })), STOP, DONE];
}

/** Answers as an engine does: a stream or a JSON answer, as asked. */
export function answers(text: string): Script {
  return (call) =>
    call.json['stream'] === true
      ? sse(...answerChunks(text))(call)
      : json(200, completion(text))(call);
}

/** A whole JSON answer. */
export function completion(text: string): Record<string, unknown> {
  const message = { role: 'assistant', content: text };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  return { id: 'c1', object: 'chat.completion', created: 1, model: 'm', choices };
}

/**
 * An address at which nobody listens. A port that was free a moment ago may be another test's by now;
 * this one is reserved for a service that no machine has run for decades (RFC 1078).
 */
export const REFUSED_URL = 'http://127.0.0.1:1';
