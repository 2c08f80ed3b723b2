// Brings what is missing: the packages of package.json, and what is named: `development` (all packages of tools/),
// and the builds `window`, `package`, and `desktop` with its packages. Runs before
// everything else, on whatever Node is there (20 or newer).
import { build } from './build.mjs';
import { install, isInstalled, isThere, tidyUp } from './install.mjs';
import { bringNode24, linkNode24 } from './node-24.mjs';
import { HAS_NODE_24 } from './tree.mjs';

/** By workspace, the names that ask for its packages. A plain `npm ci` brings all. */
const ASKED_BY = {
  'tools/development': ['development'],
  'tools/desktop': ['desktop', 'development'],
  // Node 24 whole, of which a setup needs one program.
  'tools/node': [],
};

const named = process.argv.slice(2);
// What is there already is kept up to date by every command.
const asking = isThere('tools/development') ? [...named, 'development'] : named;
const workspaces = Object.entries(ASKED_BY)
  .filter(([place, names]) => isThere(place) || names.some((name) => asking.includes(name)))
  .map(([place]) => place);

function fail(message) {
  console.error(message);
  process.exit(1);
}

async function installMissing() {
  if (isInstalled(workspaces)) return true;
  console.log('Installing the dependencies, once …');
  return install(workspaces);
}

tidyUp();
const [areInstalled, whyNoNode] = await Promise.all([installMissing(), bringNode24()]);
if (!areInstalled) fail('The dependencies could not be installed; npm says why above.');
if (whyNoNode !== null) fail(`${whyNoNode}. Install it (https://nodejs.org), then try again.`);
if (!HAS_NODE_24) linkNode24();
if (!(await build(named.filter((name) => name !== 'development')))) process.exit(1);
