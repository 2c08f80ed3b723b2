import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createLooks } from './looks.ts';
import { asVariables } from './config.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The program as the npm package holds it: it starts in half the time of its sources. */
export const PROGRAM = 'dist/node/headless.js';

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line of Inglenook as a real process, in a process group of its own. */
export type RunningCli = ReturnType<typeof spawnProgram>;

/** Starts the program; settings are named without their prefix, nothing else is inherited. */
export function startCli(
  settings: Readonly<Record<string, string>>,
  ...args: readonly string[]
): RunningCli {
  return startProgram(asVariables({ AGENT: 'false', ...settings }), ...args);
}

/** The same with a limit of open files, its own ones included. */
export function startCliWithFiles(
  files: number,
  settings: Readonly<Record<string, string>>,
): RunningCli {
  const env = asHost(asVariables({ AGENT: 'false', ...settings }));
  return spawnProgram(withFiles(files, PROGRAM), env);
}

/** A program of Node's that may open so many files. */
export function withFiles(files: number, ...args: readonly string[]): readonly string[] {
  return ['sh', '-c', `ulimit -n ${files} && exec "$@"`, 'sh', process.execPath, ...args];
}

/** As `startCli`, with whole names of variables; beside them there is only `PATH`. */
export function startProgram(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): RunningCli {
  return spawnProgram([process.execPath, PROGRAM, ...args], asHost(env));
}

function asHost(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    // A hundred starts of the same program: what was compiled once is kept.
    NODE_COMPILE_CACHE: join(ROOT, '.cache/compile'),
    ...env,
  };
}

/** Starts a program in the repository's folder, with this environment only. */
export function spawnProgram([command = '', ...args]: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(command, args, {
    cwd: ROOT,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  let stdout = '';
  let stderr = '';
  const { look, until } = createLooks();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  });
  const tooLate = (): never => {
    throw new Error(`it ended: ${stdout}${stderr}`);
  };
  return {
    pid,
    /** Resolves with the first group of `pattern` once it matches what was printed so far. */
    async printed(pattern: RegExp) {
      const found = until(() => pattern.exec(stdout) ?? undefined);
      const [text, group] = await Promise.race([found, ended.then(() => tooLate())]);
      return group ?? text;
    },
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    ended,
    /** Whether any process of the group lives. */
    isAlive() {
      try {
        process.kill(-pid, 0);
        return true;
      } catch {
        return false;
      }
    },
  };
}

/** Runs it to its end. */
export function runCli(
  settings: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Ended> {
  return startCli(settings, ...args).ended;
}
