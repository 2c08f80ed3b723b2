// Brings what is missing: the dependencies, and with the word `window` the built window.
// Runs before everything else, on whatever Node is there (20 or newer).
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { newestMs, NODE_24, ROOT, run } from './tree.mjs';

/** Says which lockfile node_modules was made from. */
const STAMP = join(ROOT, 'node_modules/.cache/switchyard-lockfile');
const WINDOW = join(ROOT, 'dist/window/index.html');

async function installIfStale() {
  const lockfile = createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex');
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === lockfile && existsSync(NODE_24)) return;
  console.log('Installing the dependencies, once …');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const ended = await run(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  if (ended.code !== 0) fail('The dependencies could not be installed; npm says why above.');
  if (!existsSync(NODE_24)) {
    fail('npm did not run the install script of its "node" package; "npm rebuild node" runs it.');
  }
  mkdirSync(dirname(STAMP), { recursive: true });
  writeFileSync(STAMP, lockfile);
}

async function buildWindowIfStale() {
  const built = existsSync(WINDOW) ? statSync(WINDOW).mtimeMs : 0;
  const sources = ['renderer', 'shared', 'package-lock.json'].map((name) => join(ROOT, name));
  if (Math.max(...sources.map(newestMs)) < built) return;
  console.log('Building the window …');
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js');
  const config = join(ROOT, 'renderer/vite.config.ts');
  const ended = await run(NODE_24, [vite, 'build', '-c', config, '--logLevel', 'warn']);
  if (ended.code !== 0) fail('The window could not be built; the error stands above.');
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

await installIfStale();
if (process.argv.includes('window')) await buildWindowIfStale();
