// `npm start`: the desktop app where Electron can run, the same gateway without it elsewhere.
// Plain JavaScript that Node 20 understands, because it may be what runs first.
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_24 } from './node-24.mjs';
import { ROOT, run } from './tree.mjs';

const ELECTRON = join(ROOT, 'node_modules', 'electron');
const DOWNLOAD_LIMIT_MS = 180_000;
/** A program that ends by one of these within seconds never opened: Chromium could not start here. */
const CRASHES = new Set(['SIGTRAP', 'SIGABRT', 'SIGSEGV', 'SIGILL', 'SIGBUS']);
const CRASH_WINDOW_MS = 10_000;
const USER_NAMESPACES = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns';

/** @returns {Promise<number>} the exit code to pass on */
async function start() {
  if (Number.parseInt(process.versions.node, 10) < 24) return onNode24();
  const reason = noDisplay() ?? (await noApp()) ?? (await noBinary());
  if (reason !== null) return headless(reason);
  const env = { ...process.env };
  // Set in the terminals of editors that are Electron themselves; it would make ours a plain Node.
  delete env.ELECTRON_RUN_AS_NODE;
  const startedMs = Date.now();
  const ended = await run(electronPath(), [ROOT], { env });
  if (CRASHES.has(ended.signal ?? '') && Date.now() - startedMs < CRASH_WINDOW_MS)
    return headless(`Electron could not start here (${ended.signal})`, sandboxHelp());
  return codeOf(ended);
}

/** Ubuntu 23.10 and later allow Chromium's sandbox only to programs that they know, or to a helper of root. */
function sandboxHelp() {
  if (!existsSync(USER_NAMESPACES) || readFileSync(USER_NAMESPACES, 'utf8').trim() !== '1')
    return [];
  const helper = join(ELECTRON, 'dist', 'chrome-sandbox');
  return [
    'This system restricts the sandbox of the window. These two commands allow it for the app of this folder:',
    `  sudo chown root ${helper}`,
    `  sudo chmod 4755 ${helper}`,
  ];
}

async function onNode24() {
  if (!existsSync(NODE_24)) {
    console.error(`Inglenook needs Node 24, this is ${process.versions.node}: run "npm start".`);
    return 1;
  }
  return codeOf(await run(NODE_24, [fileURLToPath(import.meta.url)]));
}

/** Imported, not spawned: signals and the exit code are then the program's own. */
async function headless(reason, advice = []) {
  for (const line of [`${reason}; running headless.`, ...advice]) console.log(line);
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

/** Why the app is not here, or null when it is. Only where it can be shown: the gateway needs none of its packages. */
async function noApp() {
  const { code } = await run(process.execPath, [
    join(ROOT, 'scripts/setup.mjs'),
    'development',
    'desktop',
  ]);
  return code === 0 ? null : 'The desktop app could not be built';
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

function codeOf({ code, signal }) {
  return code ?? 128 + (constants.signals[signal] ?? 1);
}

process.exitCode = await start();
