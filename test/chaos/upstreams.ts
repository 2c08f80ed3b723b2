import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Clock } from '../../main/platform/clock.ts';
import { parseJson } from '../../main/platform/json.ts';
import type { Protocol } from '../support/readers/readers.ts';
import { answerOf } from './answers.ts';
import { faultOf } from './faults.ts';
import { keyIn, MODEL, requestOf } from './requests.ts';
import { type Call, type Script, scriptOf } from './scripts.ts';

export const UPSTREAMS = ['local', 'hosted_a', 'hosted_b'] as const;

/** A call as an upstream saw it. */
export interface PlayedCall {
  readonly call: Call;
  readonly script: Script;
  /** Why it must not have been sent like this; null if it may. */
  readonly wrong: string | null;
}

/** Each upstream knows the right answer to every request and gives it, unless it has a fault. */
export async function startUpstreams(clock: Clock, gateways: number) {
  const calls = new Map<number, PlayedCall[]>();
  const open = new Set<ServerResponse>();
  const servers = UPSTREAMS.map((upstream) =>
    createServer((req, res) => {
      open.add(res);
      res.on('close', () => open.delete(res)).on('error', () => {});
      void receive(upstream, req, res);
    }),
  );

  async function receive(upstream: string, req: IncomingMessage, res: ServerResponse) {
    if (req.method === 'GET') {
      const data = [{ id: MODEL, object: 'model', owned_by: 'vllm' }];
      res.setHeader('content-type', 'application/json').end(JSON.stringify({ data }));
      return;
    }
    // Null if the gateway left before all of the body had come.
    const body = await text(req).catch(() => null);
    const played = body === null ? null : taken(upstream, req.url ?? '', body);
    if (played === null) res.writeHead(404).end('{"error":{"message":"Not Found"}}');
    else await play(played.script, res, clock);
  }

  function taken(upstream: string, path: string, json: string): PlayedCall | null {
    const key = keyIn(json);
    const protocol = protocolAt(path);
    // One of them speaks chat completions only.
    if (key === null || (upstream === 'hosted_a' && protocol !== 'chat')) return null;
    const before = calls.get(key.n) ?? [];
    const number = before.filter(({ call }) => call.upstream === upstream).length;
    const body = parseJson(json) as Call['body'];
    const request = requestOf(key, gateways);
    const call = { upstream, request, number, protocol, body, partial: partialIn(body) };
    const script = scriptOf(call, faultOf(key, upstream, number));
    const played = { call, script, wrong: wrongIn(call) };
    calls.set(key.n, [...before, played]);
    return played;
  }

  for (const server of servers) server.listen(0, '127.0.0.1');
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const urls = servers.map(
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  );
  return {
    urls,
    callsOf: (n: number): readonly PlayedCall[] => calls.get(n) ?? [],
    /** Responses that have not ended and whose connections are open. */
    open: () => open.size,
    async close() {
      for (const server of servers) server.closeAllConnections();
      await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
    },
  };
}

function protocolAt(path: string): Protocol {
  if (path.endsWith('/messages')) return 'messages';
  return path.endsWith('/responses') ? 'responses' : 'chat';
}

/** The last message, if it is the assistant's. */
function partialIn({ messages }: Call['body']): string | null {
  const last = Array.isArray(messages) ? (messages.at(-1) as Record<string, unknown>) : undefined;
  return last?.['role'] === 'assistant' ? String(last['content']) : null;
}

function wrongIn({ request, body, partial }: Call): string | null {
  if (body['model'] !== MODEL) return `asked for the model ${String(body['model'])}`;
  if (body['temperature'] !== (request.isRepeatable ? 0 : 1)) return 'asked at another temperature';
  const isBeginning = partial !== '' && answerOf(request).text.startsWith(partial ?? '');
  return partial === null || isBeginning ? null : `asked to continue ${partial}`;
}

/** Sends what the script says at the gateway's speed, and nothing once the gateway has left. */
async function play({ head, pieces, end }: Script, res: ServerResponse, clock: Clock) {
  const closed = once(res, 'close');
  if (head !== null) res.writeHead(head.status, head.headers).flushHeaders();
  for (const { bytes, waitMs } of pieces) {
    await new Promise<void>((go) => {
      if (waitMs === null) setImmediate(go);
      else clock.after(waitMs, go);
    });
    if (res.destroyed) return;
    if (!res.write(bytes)) await Promise.race([closed, once(res, 'drain')]);
  }
  await new Promise((go) => void setImmediate(go));
  if (end === 'end') res.end();
  else if (end === 'close') res.socket?.destroy();
  else if (end === 'reset') res.socket?.resetAndDestroy();
}
