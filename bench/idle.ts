/**
 * What the installed program costs while nobody asks for anything: gateway, registry and agent. Without a probe of its
 * event loop: its timer, 200 times a second, would cost more than the program.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { terminate, type Children } from './kit/children.ts';
import { pathWithGpu } from './kit/gpu-tools.ts';
import { cpuMs, rssMb } from './kit/proc.ts';
import { getFrom, PACKAGE, startGateway } from './kit/programs.ts';
import { bound, type Report } from './report.ts';

const WATCHED_MS = 300_000;
/** Start-up, the first look for GPU and engine, and the first verification are no idling. */
const SETTLE_MS = 15_000;
const LOOK_MS = 10_000;

/** What the smallest engine that passes the checks answers. */
const ANSWERS: Readonly<Record<string, object>> = {
  '/v1/models': { object: 'list', data: [{ id: 'idle-model', object: 'model' }] },
  '/v1/chat/completions': {
    id: 'idle',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  },
};

/** Runs it, with an engine and a GPU tool that are stubs; the files go to `directory`. */
export async function idle(children: Children, directory: string): Promise<Report> {
  if (!existsSync(PACKAGE)) throw new Error('first: npm run build');
  const engine = createServer((req, res) => {
    const answer = ANSWERS[req.url ?? ''];
    res.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    res.end(JSON.stringify(answer ?? {}));
    req.resume();
  }).listen(0, '127.0.0.1');
  await once(engine, 'listening');
  const path = pathWithGpu(join(directory, 'tools'));
  const start = () =>
    startGateway(
      children,
      join(directory, 'idle'),
      {
        PATH: path,
        NODE_COMPILE_CACHE: join(directory, 'cache'),
        INGLENOOK_AGENT: 'true',
        INGLENOOK_AGENT_PORTS: '0',
        INGLENOOK_ENGINE_URL: `http://127.0.0.1:${(engine.address() as AddressInfo).port}`,
      },
      { script: PACKAGE },
    );
  // The first start fills the compile cache, as every machine's first start does.
  await terminate((await start()).child);
  const { child, port } = await start();
  await pause(SETTLE_MS);
  await mustServe(port);
  const [cpuBefore, begunAt] = [cpuMs(child.pid), performance.now()];
  let most = 0;
  for (let gone = 0; gone < WATCHED_MS; gone += LOOK_MS) {
    await pause(LOOK_MS);
    most = Math.max(most, rssMb(child.pid));
  }
  const watchedMs = performance.now() - begunAt;
  const cpuPercent = (100 * (cpuMs(child.pid) - cpuBefore)) / watchedMs;
  await terminate(child);
  engine.close().closeAllConnections();
  const minutes = (watchedMs / 60_000).toFixed(1);
  return {
    intro: `Gateway, registry and agent with an engine and a GPU tool, idle for ${minutes} minutes.`,
    tables: [],
    notes: [],
    bounds: [
      // Of all threads and of the tools and helpers that were started.
      bound('CPU of one core', ' %', cpuPercent, 1),
      bound('RSS, the most that was seen', ' MB', most, 150),
    ],
  };
}

/** An agent that found nothing to do would idle more cheaply than one at work. */
async function mustServe(port: number): Promise<void> {
  const body = await getFrom(port, '/api/v1/providers');
  const list = (await body.json()) as { readonly verified: number };
  if (list.verified !== 1) throw new Error('this machine was not verified, so nothing is measured');
}
