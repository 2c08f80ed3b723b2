import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

/** The real program with two upstreams, and someone who keeps asking whether it is well. */
export interface Arena {
  readonly url: string;
  readonly port: number;
  /** Lets the gateway call itself through its second upstream. */
  readonly loops: { on: boolean };
  rssMb(): number;
  /** The longest wait for `/healthz` since the last call, in milliseconds. */
  worstHealthMs(): number;
  isAlive(): boolean;
  close(): Promise<void>;
}

export const KEY = 'attack-0123456789abcdef';

const EVENT = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(4096) } }] })}\n\n`;
const FLOOD_EVENTS = 2000;

export async function openArena(): Promise<Arena> {
  const loops = { on: false };
  const own = { url: '' };
  const upstream = await listen(createUpstream(loops, own));
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-attack-'));
  const child = spawn(process.execPath, ['main/headless.ts'], {
    cwd: join(import.meta.dirname, '../..'),
    env: {
      PATH: process.env['PATH'],
      INGLENOOK_PORT: '0',
      INGLENOOK_AGENT: 'false',
      INGLENOOK_DATA_DIR: directory,
      INGLENOOK_API_KEYS: KEY,
      INGLENOOK_HOSTED_A_BASE_URL: `${upstream.url}/v1`,
      INGLENOOK_FAIL_THRESHOLD: '1000000',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  own.url = await printedUrl(child);
  const prober = new Worker(new URL('prober.ts', import.meta.url), { workerData: own });
  let worst = 0;
  prober.on('message', (ms: number) => (worst = Math.max(worst, ms)));
  return {
    url: own.url,
    port: Number(new URL(own.url).port),
    loops,
    rssMb: () => rssMbOf(child.pid ?? 0),
    worstHealthMs() {
      const ms = worst;
      worst = 0;
      return ms;
    },
    isAlive: () => child.exitCode === null && child.signalCode === null,
    async close() {
      await prober.terminate();
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      upstream.server.closeAllConnections();
      upstream.server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Streams events as fast as they are taken, or passes the request on to the gateway itself. */
function createUpstream(loops: { readonly on: boolean }, own: { readonly url: string }): Server {
  return createServer((req, res) => {
    res.on('error', () => {});
    if (loops.on && req.method === 'POST') {
      const headers = {
        ...req.headers,
        host: new URL(own.url).host,
        authorization: `Bearer ${KEY}`,
      };
      const back = request(own.url + (req.url ?? ''), { method: 'POST', headers, agent: false });
      back.on('response', (answer) => {
        res.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
        answer.pipe(res);
      });
      back.on('error', () => res.destroy());
      req.pipe(back);
      return;
    }
    req.resume();
    const events = req.headers['x-request-id'] === 'flood' ? FLOOD_EVENTS : 2;
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const write = () => {
      while (sent < events && !res.destroyed) {
        sent += 1;
        if (!res.write(EVENT)) {
          res.once('drain', write);
          return;
        }
      }
      res.end(
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
      );
    };
    req.on('end', write);
  });
}

async function listen(server: Server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function printedUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    });
    child.on('exit', () => reject(new Error(`the program ended: ${text}`)));
  });
}

/** 0 where the system does not tell. */
function rssMbOf(pid: number): number {
  try {
    const [, kb = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kb) / 1024);
  } catch {
    return 0;
  }
}
