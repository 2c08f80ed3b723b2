import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startDemo as start } from '../../main/demo/demo.ts';
import { type DemoPace, PACE } from '../../main/demo/engine.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { DemoFault } from '#shared/live.ts';
import type { StatusReport } from '#shared/status.ts';
import { chat } from './client.ts';
import { openDatabaseHere } from './database.ts';
import { temporaryDirectory } from './gateway.ts';

const ROOT = join(import.meta.dirname, '../..');

export type RunningDemo = Awaited<ReturnType<typeof startDemo>>;

/** Nobody watches the words come. */
const QUICK: DemoPace = { ...PACE, wordMs: 4 };

/** Starts it in this process, on a free port; it is stopped with the test. */
export async function startDemo(pace = QUICK) {
  // A thread for the database would cost more than all the rest.
  const edges = { openDatabase: openDatabaseHere };
  const demo = await start({ port: '0', dataDirectory: temporaryDirectory() }, pace, edges);
  onTestFinished(() => demo.stop());
  const { link, baseUrl, faults, traffic } = demo;
  return {
    /** The window's address with a one-time code. */
    link,
    baseUrl,
    break: (id: UpstreamId, fault: DemoFault = 'refuse') => faults.set(id, fault),
    heal: (id: UpstreamId) => faults.set(id, 'none'),
    stopTraffic: () => traffic.set(false),
  };
}

/** Asks once; answers who served, and why others did not. */
export async function askDemo({ baseUrl }: RunningDemo): Promise<string> {
  const { upstream, reason } = await chat(new URL(baseUrl).origin);
  return `${upstream}: ${reason}`;
}

/** What its gateway reports. */
export async function demoStatus({ baseUrl }: RunningDemo): Promise<StatusReport> {
  const response = await fetch(new URL('/api/v1/status', baseUrl));
  return (await response.json()) as StatusReport;
}

/** Starts it as a process of its own, as a newcomer runs it; returns the lines to try, as they were printed. */
export async function startDemoProcess(): Promise<readonly string[]> {
  const child = spawn(process.execPath, ['main/demo.ts', '--port', '0'], {
    cwd: ROOT,
    env: { ...process.env, NODE_COMPILE_CACHE: join(ROOT, '.cache/compile') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += String(text);
    if (output.includes('Ctrl+C')) break;
  }
  child.stdout.resume();
  return output.split('\n').filter((line) => line.startsWith('curl '));
}
