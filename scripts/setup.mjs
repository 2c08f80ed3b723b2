// Brings what is missing: the dependencies, and what is named, built: `window`, `package`.
// Runs before everything else, on whatever Node is there (20 or newer).
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.mjs';
import { NODE_24, ROOT, run } from './tree.mjs';

/** What npm keeps of its last install in this folder, whoever asked for it. */
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json');

const packagesIn = (lockfile) => JSON.parse(readFileSync(lockfile, 'utf8')).packages;

/** Whether each package is there that the lockfile asks for; binaries for other systems are not. */
function isInstalled() {
  if (!existsSync(INSTALLED)) return false;
  const found = packagesIn(INSTALLED);
  return Object.entries(packagesIn(join(ROOT, 'package-lock.json'))).every(([place, wanted]) => {
    const there = found[place];
    if (there === undefined) return place === '' || wanted.optional === true;
    return there.version === wanted.version && there.integrity === wanted.integrity;
  });
}

/** Without install scripts: better-sqlite3 brings its binaries, and npm would want a compiler to make others. */
async function install() {
  console.log('Installing the dependencies, once …');
  const ended = await npm('ci', '--ignore-scripts');
  if (ended.code !== 0) fail('The dependencies could not be installed; npm says why above.');
}

/** Node 24 comes with the one install script that has to run. */
async function fetchNode() {
  await npm('rebuild', 'node');
  if (!existsSync(NODE_24)) fail('The install script of the npm package "node" did not run.');
}

function npm(...args) {
  const program = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  return run(program, [...args, '--no-audit', '--no-fund', '--loglevel=error']);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

if (!isInstalled()) await install();
if (!existsSync(NODE_24)) await fetchNode();
if (!(await build(process.argv.slice(2)))) process.exit(1);
