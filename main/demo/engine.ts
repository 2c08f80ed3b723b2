import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UpstreamId } from '#shared/ids.ts';
import type { DemoFault } from '#shared/live.ts';
import { ByteBuffer } from '../platform/byte-buffer.ts';
import { cannedAnswer, DEMO_MODEL, readChat, streamAnswer } from './answers.ts';
import { type DemoPace, PACE } from './pace.ts';
import { DEMO_STREAMS } from './streams.ts';
import { type DemoBody, demoBody } from './whole-answers.ts';

/** An engine with canned answers on a loopback socket, which can be broken and healed. */
export interface DemoEngine {
  readonly id: UpstreamId;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Such as `http://127.0.0.1:40123`; the same while the engine refuses connections. */
  url(): string;
  fault(): DemoFault;
  setFault(fault: DemoFault): Promise<void>;
}

export interface DemoTraits {
  /** It starts slowly after a time without requests. */
  readonly isCold?: boolean;
  /** Has neither the Responses nor the Messages API. */
  readonly speaksChatOnly?: boolean;
  readonly pace?: DemoPace;
}

export function createDemoEngine(
  id: UpstreamId,
  { isCold = false, speaksChatOnly = false, pace = PACE }: DemoTraits = {},
): DemoEngine {
  const coldStart: ColdStart = createColdStart(isCold ? pace.coldStartMs : 0);
  let fault: DemoFault = 'none';
  let server: Server | null = null;
  let port = 0;

  function listen(): Promise<void> {
    const next = createServer((req, res) => answer(req, res));
    server = next;
    return new Promise((resolve, reject) => {
      next.once('error', reject);
      next.listen({ host: '127.0.0.1', port }, () => {
        ({ port } = next.address() as AddressInfo);
        resolve();
      });
    });
  }

  function close(): Promise<void> {
    const current = server;
    server = null;
    return new Promise((resolve) => {
      if (current === null) resolve();
      else {
        current.close(() => resolve());
        current.closeAllConnections();
      }
    });
  }

  function answer(req: IncomingMessage, res: ServerResponse): void {
    if (!coldStart.isUp()) sendJson(res, 503, error('Loading model'));
    else if (req.url === '/health') sendJson(res, 200, { status: 'ok' });
    else if (req.url?.endsWith('/models')) {
      sendJson(res, 200, { object: 'list', data: [{ id: DEMO_MODEL, object: 'model' }] });
    } else if (fault === '429') sendJson(res, 429, error('Rate limit'), { 'retry-after': '20' });
    else if (fault === '500') sendJson(res, 500, error('The demo engine was told to fail'));
    else void post(req, res);
  }

  async function post(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const gathered = new ByteBuffer();
    for await (const part of req) gathered.add(part as Buffer);
    const body = gathered.take();
    const path = req.url ?? '';
    const delayMs = fault === 'slow' ? pace.slowMs : 0;
    if (speaksChatOnly && /\/(responses|messages|count_tokens)$/.test(path)) {
      sendJson(res, 404, error('Not Found'));
      return;
    }
    const stream = DEMO_STREAMS.find(([end]) => path.endsWith(end))?.[1];
    if (stream === undefined) {
      const whole = demoBody(path, body, id);
      if (whole === null) sendJson(res, 404, error('Not Found'));
      else setTimeout(() => send(res, whole), delayMs);
      return;
    }
    const chat = readChat(body.toString());
    if (chat.stream)
      streamAnswer(res, id, { stream, partial: chat.partial, delayMs, wordMs: pace.wordMs, fault });
    else setTimeout(() => sendJson(res, 200, stream.whole(cannedAnswer(id))), delayMs);
  }

  return {
    id,
    start: listen,
    stop: close,
    url: () => `http://127.0.0.1:${port}`,
    fault: () => fault,
    async setFault(next) {
      const wasRefusing = fault === 'refuse';
      fault = next;
      if (next === 'refuse') await close();
      else if (wasRefusing) await listen();
    },
  };
}

function send(res: ServerResponse, { type, bytes }: DemoBody): void {
  res.writeHead(200, { 'content-type': type }).end(bytes);
}

function sendJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  res.req.resume();
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(JSON.stringify(value));
}

function error(message: string): object {
  return { error: { message, type: 'demo', code: null, param: null } };
}

/** Imitates an engine that is switched off while unused and starts slowly. */
interface ColdStart {
  /** Whether the engine is up; if not, the call starts it. */
  isUp(): boolean;
}

const SLEEP_AFTER_MS = 120_000;

/** An engine that takes no time to start is always up. */
function createColdStart(startMs: number): ColdStart {
  let startedAt: number | null = null;
  let calledAt = 0;
  return {
    isUp() {
      const now = performance.now();
      if (startedAt === null || now - calledAt > SLEEP_AFTER_MS) startedAt = now;
      calledAt = now;
      return now - startedAt >= startMs;
    },
  };
}
