// `npm start`: the desktop app where Electron can run, the same gateway without it elsewhere.
// Plain JavaScript that Node 20 understands, because it may be what runs first.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const ELECTRON = join(ROOT, 'node_modules', 'electron');
const BUNDLE = join(ROOT, 'dist', 'desktop', 'electron.js');
const NODE_24 = join(
  ROOT,
  'node_modules',
  'node',
  'bin',
  process.platform === 'win32' ? 'node.exe' : 'node',
);
const DOWNLOAD_LIMIT_MS = 180_000;
/** A program that ends by one of these within seconds never opened: Chromium could not start here. */
const CRASHES = new Set(['SIGTRAP', 'SIGABRT', 'SIGSEGV', 'SIGILL', 'SIGBUS']);
const CRASH_WINDOW_MS = 10_000;

/** @returns {Promise<number>} the exit code to pass on */
async function start() {
  if (Number.parseInt(process.versions.node, 10) < 24) return onNode24();
  const reason = noDisplay() ?? (await noBinary());
  if (reason !== null) return headless(reason);
  await buildIfStale();
  const env = { ...process.env };
  // Set in the terminals of editors that are Electron themselves; it would make ours a plain Node.
  delete env.ELECTRON_RUN_AS_NODE;
  const startedMs = Date.now();
  const ended = await run(electronPath(), [ROOT], { env });
  if (CRASHES.has(ended.signal ?? '') && Date.now() - startedMs < CRASH_WINDOW_MS)
    return headless(`Electron could not start here (${ended.signal})`);
  return codeOf(ended);
}

async function onNode24() {
  if (!existsSync(NODE_24)) {
    console.error(
      `Switchyard needs Node 24, this is ${process.versions.node}: run "npm install", then "npm start".`,
    );
    return 1;
  }
  return codeOf(await run(NODE_24, [fileURLToPath(import.meta.url)]));
}

/** Imported, not spawned: signals and the exit code are then the program's own. */
async function headless(reason) {
  console.log(`${reason}; running headless.`);
  const entry = new URL('../main/headless.ts', import.meta.url);
  process.argv[1] = fileURLToPath(entry);
  await import(entry.href);
  return process.exitCode ?? 0;
}

function noDisplay() {
  if (process.platform !== 'linux') return null;
  if (!process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) return 'There is no display here';
  if (process.getuid() === 0) return 'Electron does not run as root';
  return null;
}

/** Why Electron's binary is not here, or null when it is. */
async function noBinary() {
  const notice = setTimeout(() => {
    console.log('Fetching Electron, once (npm run start:headless does without it) …');
  }, 2000);
  const lines = [];
  const fetched = await run(process.execPath, [join(ELECTRON, 'install.js')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: DOWNLOAD_LIMIT_MS,
    onError: (text) => lines.push(...text.split('\n')),
  });
  clearTimeout(notice);
  if (fetched.code === 0) return null;
  const said = lines.map((line) => line.trim()).find((line) => /^\w*Error\b/.test(line));
  const why =
    said ?? (fetched.signal === null ? 'the download failed' : 'the download took too long');
  return `Electron's binary is not here and could not be downloaded: ${why.replace(/^\w+: /, '').slice(0, 200)}`;
}

function electronPath() {
  return join(ELECTRON, 'dist', readFileSync(join(ELECTRON, 'path.txt'), 'utf8').trim());
}

async function buildIfStale() {
  const built = existsSync(BUNDLE) ? statSync(BUNDLE).mtimeMs : 0;
  const sources = ['main', 'shared', 'package.json'].map((name) => join(ROOT, name));
  if (Math.max(...sources.map(newestMs)) < built) return;
  const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js');
  const config = join(ROOT, 'main', 'desktop', 'vite.config.ts');
  const ended = await run(process.execPath, [vite, 'build', '-c', config, '--logLevel', 'warn']);
  if (ended.code !== 0) process.exit(codeOf(ended));
}

function newestMs(path) {
  const info = statSync(path);
  if (!info.isDirectory()) return info.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

/** Ctrl+C reaches the child by itself, being of the same terminal. */
const stay = () => undefined;

/** Runs a program in this terminal; what ends us is passed on to it. */
function run(command, args, { env = process.env, stdio = 'inherit', timeout, onError } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, env, stdio, timeout });
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

function codeOf({ code, signal }) {
  return code ?? 128 + (constants.signals[signal] ?? 1);
}

process.exitCode = await start();
