// What the scripts know of this checkout. Plain JavaScript that Node 20 understands.
import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** When the newest file under `path` was changed, in milliseconds since the epoch. */
export function newestMs(path) {
  const info = statSync(path);
  if (!info.isDirectory()) return info.mtimeMs;
  return Math.max(info.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

/** Ctrl+C reaches the child by itself, being of the same terminal. */
const stay = () => undefined;

/** Runs a program in this terminal; what ends us is passed on to it. */
export function run(
  command,
  args,
  { env = process.env, stdio = 'inherit', shell = false, timeout, onOutput, onError } = {},
) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, env, stdio, shell, timeout });
    if (onOutput) child.stdout.setEncoding('utf8').on('data', onOutput);
    else child.stdout?.pipe(process.stdout, { end: false });
    child.stderr?.setEncoding('utf8').on('data', onError);
    const pass = (signal) => child.kill(signal);
    process.on('SIGINT', stay).on('SIGTERM', pass).on('SIGHUP', pass);
    const done = (ended) => {
      process.off('SIGINT', stay).off('SIGTERM', pass).off('SIGHUP', pass);
      resolve(ended);
    };
    child.once('error', (error) => {
      console.error(`${command}: ${error.message}`);
      done({ code: 1, signal: null });
    });
    child.once('close', (code, signal) => done({ code, signal }));
  });
}

/** Runs npm, quietly. On Windows it is a script, which only a shell starts. */
export function npm(args, options = {}) {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  return run('npm', [...args, ...quiet], { shell: process.platform === 'win32', ...options });
}
