// Brings what is missing: the dependencies, and with the word `window` the built window.
// Runs before everything else, on whatever Node is there (20 or newer).
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { newestMs, NODE_24, ROOT, run } from './tree.mjs';

/** What npm keeps of its last install in this folder, whoever asked for it. */
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json');
const WINDOW = join(ROOT, 'dist/window/index.html');

const packagesIn = (lockfile) => JSON.parse(readFileSync(lockfile, 'utf8')).packages;

/** Whether each package is there that the lockfile asks for; binaries for other systems are not. */
function isInstalled() {
  if (!existsSync(INSTALLED) || !existsSync(NODE_24)) return false;
  const found = packagesIn(INSTALLED);
  return Object.entries(packagesIn(join(ROOT, 'package-lock.json'))).every(([place, wanted]) => {
    const there = found[place];
    if (there === undefined) return place === '' || wanted.optional === true;
    return there.version === wanted.version && there.integrity === wanted.integrity;
  });
}

async function installIfStale() {
  if (isInstalled()) return;
  console.log('Installing the dependencies, once …');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const ended = await run(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  if (ended.code !== 0) fail('The dependencies could not be installed; npm says why above.');
  if (!existsSync(NODE_24)) {
    fail('npm did not run the install script of its "node" package; "npm rebuild node" runs it.');
  }
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
