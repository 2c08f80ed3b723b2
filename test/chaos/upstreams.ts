import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../../main/platform/clock.ts';
import { parseJson } from '../../main/platform/json.ts';
import { answerOf } from './answers.ts';
import { faultOf } from './faults.ts';
import { keyIn, MODEL, type Protocol, requestOf } from './requests.ts';
import { type Asked, type Script, scriptOf } from './scripts.ts';

export const UPSTREAMS = ['local', 'hosted_a', 'hosted_b'] as const;
export type UpstreamName = (typeof UPSTREAMS)[number];

/** A call as an upstream saw it. */
export interface PlayedCall {
  readonly upstream: UpstreamName;
  readonly asked: Asked;
  readonly script: Script;
  /** It must not have been sent like this. */
  readonly wrong: string | null;
}

/** The upstreams of a run. */
export interface Upstreams {
  readonly urls: Readonly<Record<UpstreamName, string>>;
  /** The calls of a request so far, in order. */
  callsOf(n: number): readonly PlayedCall[];
  /** Forgets all calls. */
  forget(): void;
  /** Calls whose responses have not ended, and whose connections are open. */
  open(): number;
  /** Connections, idle ones too. */
  connections(): number;
  close(): Promise<void>;
}

interface Plan {
  readonly clock: Clock;
  /** How many there are. */
  readonly gateways: number;
}

/** Starts them; each knows the right answer of every request and gives it, unless its weather is bad. */
export async function startUpstreams(plan: Plan): Promise<Upstreams> {
  const calls = new Map<number, PlayedCall[]>();
  const sockets = new Set<Socket>();
  const open = new Set<ServerResponse>();
  const servers = UPSTREAMS.map((upstream) =>
    createServer((req, res) => {
      open.add(res);
      res.on('close', () => open.delete(res));
      void receive(upstream, req, res);
    }),
  );

  async function receive(upstream: UpstreamName, req: IncomingMessage, res: ServerResponse) {
    if (req.method === 'GET') return sendModels(res);
    const text = await textOf(req);
    const played = text === null ? null : taken(upstream, req.url ?? '', text);
    if (played === null) return void res.writeHead(404).end('{"error":{"message":"Not Found"}}');
    await play(played.script, res, plan.clock);
  }

  function taken(upstream: UpstreamName, path: string, text: string): PlayedCall | null {
    const key = keyIn(text);
    const protocol = protocolAt(path);
    if (key === null || protocol === null) return null;
    const request = requestOf(key, plan.gateways);
    // This one speaks chat completions only.
    if (upstream === 'hosted_a' && protocol !== 'chat') return null;
    const before = calls.get(key.n) ?? [];
    const call = before.filter((each) => each.upstream === upstream).length;
    const body = parseJson(text) as Readonly<Record<string, unknown>>;
    const asked = { upstream, request, call, protocol, body, partial: partialIn(body) };
    const script = scriptOf(asked, faultOf(key, upstream, call));
    const played = { upstream, asked, script, wrong: wrongIn(asked) };
    calls.set(key.n, [...before, played]);
    return played;
  }

  for (const server of servers) {
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    server.listen(0, '127.0.0.1');
  }
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const urls = servers.map((server, at) => [UPSTREAMS[at], urlOf(server)]);
  return {
    urls: Object.fromEntries(urls) as Record<UpstreamName, string>,
    callsOf: (n) => calls.get(n) ?? [],
    forget: () => calls.clear(),
    open: () => open.size,
    connections: () => sockets.size,
    async close() {
      for (const server of servers) server.closeAllConnections();
      await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
    },
  };
}

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function protocolAt(path: string): Protocol | null {
  if (path.endsWith('/chat/completions')) return 'chat';
  if (path.endsWith('/messages')) return 'messages';
  return path.endsWith('/responses') ? 'responses' : null;
}

/** Null where the gateway went away before all of it had come. */
async function textOf(req: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  try {
    for await (const part of req) parts.push(part as Buffer);
  } catch {
    return null;
  }
  return Buffer.concat(parts).toString();
}

function sendModels(res: ServerResponse): void {
  const data = [{ id: MODEL, object: 'model', owned_by: 'vllm' }];
  const body = JSON.stringify({ object: 'list', data });
  res.writeHead(200, { 'content-type': 'application/json' }).end(body);
}

/** The last message, if it is the assistant's. */
function partialIn({ messages }: Readonly<Record<string, unknown>>): string | null {
  const last = Array.isArray(messages) ? (messages.at(-1) as Record<string, unknown>) : undefined;
  return last?.['role'] === 'assistant' ? String(last['content']) : null;
}

function wrongIn({ request, body, partial }: Asked): string | null {
  if (body['model'] !== MODEL) return `asked for the model ${String(body['model'])}`;
  if (body['temperature'] !== (request.isRepeatable ? 0 : 1)) return 'asked at another temperature';
  if (partial === null) return null;
  const { text } = answerOf(request);
  return partial !== '' && text.startsWith(partial) ? null : `asked to continue ${partial}`;
}

/** Sends what the script says, at the gateway's speed, and nothing once the gateway has gone. */
async function play(script: Script, res: ServerResponse, clock: Clock): Promise<void> {
  res.on('error', () => {});
  sendHead(script, res);
  for (const { bytes, waitMs } of script.pieces) {
    await (waitMs === null ? nextTurn() : passed(waitMs, clock));
    if (res.destroyed) return;
    if (!res.write(bytes)) await drained(res);
  }
  await nextTurn();
  end(script, res);
}

function sendHead({ head, pieces }: Script, res: ServerResponse): void {
  if (head === null) return;
  // Without it Node ends the body with the connection.
  if (head.isClosing) res.removeHeader('transfer-encoding');
  res.writeHead(head.status, head.headers);
  if (pieces[0]?.waitMs !== null) res.flushHeaders();
}

function end(script: Script, res: ServerResponse): void {
  switch (script.end) {
    case 'end':
      res.end();
      return;
    case 'close':
      res.socket?.destroy();
      return;
    case 'reset':
      res.socket?.resetAndDestroy();
      return;
    case 'silence':
  }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const passed = (ms: number, clock: Clock) =>
  new Promise<void>((resolve) => void clock.after(ms, resolve));

const drained = (res: ServerResponse) =>
  new Promise<void>((resolve) => {
    const settle = () => {
      res.off('drain', settle).off('close', settle);
      resolve();
    };
    res.on('drain', settle).on('close', settle);
  });
