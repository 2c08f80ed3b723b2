// What the scripts know of this checkout. Plain JavaScript that Node 20 understands.
import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

const runsNode24 = Number.parseInt(process.versions.node, 10) >= 24;

/** Whether the machine's own Node is 24 or newer. Scripts of npm run on the one that tools/node brings once it is there. */
export const HAS_NODE_24 = runsNode24 && !process.execPath.startsWith(join(ROOT, 'node_modules'));

/** Node 24 or newer: the machine's own, or that of tools/node, which is there once the dependencies are. */
export const NODE_24 = HAS_NODE_24
  ? process.execPath
  : join(ROOT, 'node_modules', packagedNode(process.platform, process.arch));

/** Where a package of tools/node has its program, below node_modules. */
export function packagedNode(platform, arch) {
  if (platform === 'win32') return `node-win-${arch}/bin/node.exe`;
  const isAppleSilicon = platform === 'darwin' && arch === 'arm64';
  return `${isAppleSilicon ? 'node-bin' : 'node'}-${platform}-${arch}/bin/node`;
}

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
  { env = process.env, stdio = 'inherit', shell = false, timeout, onError } = {},
) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, env, stdio, shell, timeout });
    child.stdout?.pipe(process.stdout, { end: false });
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
export function npm(args) {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  return run('npm', [...args, ...quiet], { shell: process.platform === 'win32' });
}
