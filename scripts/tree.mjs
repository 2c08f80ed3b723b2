// What the scripts know of this checkout. Plain JavaScript that Node 20 understands.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

const runsNode24 = Number.parseInt(process.versions.node, 10) >= 24;

/** Whether the machine's own Node is 24 or newer. Scripts of npm run on the one that setup brings once it is there. */
export const HAS_NODE_24 = runsNode24 && !process.execPath.startsWith(join(ROOT, sep));

/** Where a package of tools/node has its program, below node_modules. */
export function packagedNode(platform, arch) {
  if (platform === 'win32') return `node-win-${arch}/bin/node.exe`;
  const isAppleSilicon = platform === 'darwin' && arch === 'arm64';
  return `${isAppleSilicon ? 'node-bin' : 'node'}-${platform}-${arch}/bin/node`;
}

/** What the lockfile says of each package, by its place. */
export const LOCKED = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;

/** The package of tools/node for this system; undefined where there is none. */
export const NODE_PACKAGE = nodePackage();

function nodePackage() {
  const program = packagedNode(process.platform, process.arch);
  const [name] = program.split('/');
  const locked = LOCKED[`node_modules/${name}`];
  return locked && { ...locked, name, program };
}

/** The program that a plain `npm ci` brings, or the one that setup takes out of the same package. */
function findNode24() {
  if (NODE_PACKAGE === undefined) return '';
  const { version, program } = NODE_PACKAGE;
  const whole = join(ROOT, 'node_modules', program);
  return existsSync(whole) ? whole : join(ROOT, '.cache/node', version, program);
}

/** Node 24 or newer: the machine's own, or that of tools/node; it may have yet to be brought. */
export const NODE_24 = HAS_NODE_24 ? process.execPath : findNode24();

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
