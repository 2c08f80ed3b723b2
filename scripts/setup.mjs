// Brings what is missing: the packages of package.json, those for development only if `development` is named or they are
// there already, Node 24, and the builds that are named: `window`, `package`, `desktop`. A plain `npm ci` takes longer than
// a newcomer waits for a demo (700 MB, half of it Electron's tools). Plain JavaScript that Node 20 understands.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.mjs';
import { bringNode24, linkNode24 } from './node-24.mjs';
import { npm, ROOT } from './tree.mjs';

/** What npm keeps of its last install in this folder. */
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json');

const packagesIn = (path) => JSON.parse(readFileSync(path, 'utf8')).packages;
const locked = packagesIn(join(ROOT, 'package-lock.json'));
const found = existsSync(INSTALLED) ? packagesIn(INSTALLED) : {};

const named = process.argv.slice(2);
const isDevelopment = named.includes('development') || 'node_modules/vitest' in found;

/** Those for other systems are optional, and missing. */
function isInstalled() {
  return Object.entries(locked).every(([path, { integrity, dev, optional, devOptional }]) => {
    if (path === '') return true;
    if (path in found) return found[path].integrity === integrity && existsSync(join(ROOT, path));
    return optional || devOptional || (dev && !isDevelopment);
  });
}

/** Without install scripts: better-sqlite3 brings its binaries, and npm would want a compiler to make others. */
async function installMissing() {
  if (isInstalled()) return true;
  console.log('Installing the dependencies, once …');
  // What is there is kept where it is right: a demo may be running on it.
  const how = existsSync(INSTALLED) ? ['install', '--no-save'] : ['ci'];
  const which = isDevelopment ? '--include=dev' : '--omit=dev';
  const { code } = await npm([...how, which, '--ignore-scripts']);
  return code === 0;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const [areInstalled, whyNoNode] = await Promise.all([installMissing(), bringNode24()]);
if (!areInstalled) fail('The dependencies could not be installed; npm says why above.');
if (whyNoNode !== null) fail(`${whyNoNode}. Install it (https://nodejs.org), then try again.`);
linkNode24();
if (!(await build(named.filter((name) => name !== 'development')))) process.exit(1);
