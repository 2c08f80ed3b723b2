/**
 * What the installed program costs while nobody asks for anything: gateway, registry and agent. Without a probe of its
 * event loop: its timer, 200 times a second, would cost more than the program.
 */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { terminate, type Children } from '../kit/children.ts';
import { PACKAGE, startPackage } from '../kit/programs.ts';
import { cpuMs, rssMb } from '../kit/proc.ts';

/** What five minutes of doing nothing brought. */
export interface IdleFigures {
  readonly minutes: number;
  /** CPU time of all threads and of the tools and helpers that were started, in percent of one core. */
  readonly cpuPercent: number;
  /** The most that was seen, a look every 10 s. */
  readonly rssMb: number;
}

const WATCHED_MS = 300_000;
/** Start-up, the first look for GPU and engine, and the first verification are no idling. */
const SETTLE_MS = 15_000;
const LOOK_MS = 10_000;

/** Runs it, with an engine and a GPU tool that are stubs; the files go to `directory`. */
export async function idle(children: Children, directory: string): Promise<IdleFigures> {
  if (!existsSync(PACKAGE)) throw new Error('first: npm run build');
  const engine = await startEngine();
  const start = () => startProgram(children, directory, engine.port);
  // The first start fills the compile cache, as every machine's first start does.
  await terminate((await start()).child);
  const program = await start();
  const { child, port } = program;
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
  engine.close();
  return { minutes: watchedMs / 60_000, cpuPercent, rssMb: most };
}

function startProgram(children: Children, directory: string, enginePort: number) {
  return startPackage(children, join(directory, 'idle'), {
    PATH: `${gpuTools(join(directory, 'tools'))}:${process.env['PATH'] ?? ''}`,
    NODE_COMPILE_CACHE: join(directory, 'cache'),
    SWITCHYARD_AGENT: 'true',
    SWITCHYARD_AGENT_PORTS: '0',
    SWITCHYARD_ENGINE_URL: `http://127.0.0.1:${enginePort}`,
  });
}

/** A card that systeminformation reads whole, so that the agent asks nvidia-smi only who it is. */
const TOOLS = {
  lspci: `echo '01:00.0 VGA compatible controller: NVIDIA Corporation AD103 [GeForce RTX 4080 SUPER]'`,
  'nvidia-smi': `case "$1" in
*driver_version*) echo '595.71, 0x5110, NVIDIA GeForce RTX 4080 SUPER, 00000000:01:00.0, 30, 16376, 596, 15348, 1, 23, 43, N/A, 14.24, 320.00, 210, 405';;
*) echo '0, GPU-00000000-0000-0000-0000-000000000001, 00000000:01:00.0, [N/A], 8.9';;
esac`,
};

function gpuTools(directory: string): string {
  mkdirSync(directory, { recursive: true });
  for (const [name, script] of Object.entries(TOOLS)) {
    const file = join(directory, name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  }
  return directory;
}

const MODEL = 'idle-model';

/** The smallest engine that passes the checks. */
async function startEngine(): Promise<{ readonly port: number; close(): void }> {
  const server = createServer((req, res) => {
    res.setHeader('content-type', 'application/json');
    const choices = [
      { index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' },
    ];
    const isChat = req.url === '/v1/chat/completions';
    if (isChat) res.end(JSON.stringify({ id: 'idle', object: 'chat.completion', choices }));
    else if (req.url === '/v1/models') {
      res.end(JSON.stringify({ object: 'list', data: [{ id: MODEL, object: 'model' }] }));
    } else res.writeHead(404).end('{}');
    req.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

/** An agent that found nothing to do would idle more cheaply than one at work. */
async function mustServe(port: number): Promise<void> {
  const list = (await (await fetch(`http://127.0.0.1:${port}/api/v1/providers`)).json()) as {
    readonly verified: number;
  };
  if (list.verified !== 1) throw new Error('this machine was not verified, so nothing is measured');
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
