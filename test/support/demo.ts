import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startDemo as start } from '../../main/demo/demo.ts';
import { type DemoPace, PACE } from '../../main/demo/engine.ts';
import { runCommand } from '../../main/demo/terminal.ts';
import { temporaryDirectory } from './gateway.ts';
import { createLooks } from './looks.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The demo, with what can be typed into it. */
export interface RunningDemo {
  /** The window's address with a one-time code. */
  readonly link: string;
  readonly baseUrl: string;
  /** Types a line where the demo runs and waits for its answer. */
  type(line: string): Promise<string>;
}

/** Nobody watches the words come. */
const QUICK: DemoPace = { ...PACE, wordMs: 4 };

/** Starts it in this process, on a free port; it is stopped with the test. */
export async function startDemo(pace = QUICK): Promise<RunningDemo> {
  const demo = await start({ port: '0', dataDirectory: temporaryDirectory() }, pace);
  onTestFinished(() => demo.stop());
  const { link, baseUrl } = demo;
  return { link, baseUrl, type: (line) => runCommand(line, demo) };
}

/** The demo as a process of its own, as a newcomer runs it. */
interface DemoProcess extends RunningDemo {
  /** The lines to try, as they were printed. */
  readonly curls: readonly string[];
}

/** Starts it on a free port; it is ended with the test. */
export async function startDemoProcess(): Promise<DemoProcess> {
  const child = spawn(process.execPath, ['main/demo.ts'], {
    cwd: ROOT,
    env: {
      ...process.env,
      INGLENOOK_PORT: '0',
      NODE_COMPILE_CACHE: join(ROOT, '.cache/compile'),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  let output = '';
  const { look, until } = createLooks();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    look();
  });
  const ended = once(child, 'exit').then((): never => {
    throw new Error(`the demo ended: ${output}`);
  });
  ended.catch(() => {});
  const seen = (pattern: RegExp, from: number) =>
    Promise.race([until(() => pattern.exec(output.slice(from))?.[1]), ended]);
  await seen(/Ctrl\+C (ends) it/, 0);
  child.stdin.write('traffic off\n');
  await seen(/(traffic is off)/, 0);
  return {
    link: await seen(/Dashboard +(\S+)/, 0),
    baseUrl: await seen(/Base URL +(\S+)/, 0),
    curls: output.split('\n').filter((line) => line.startsWith('curl ')),
    type(line) {
      const from = output.length;
      child.stdin.write(`${line}\n`);
      return seen(/^(.+)\n/m, from);
    },
  };
}
