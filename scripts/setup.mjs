// Brings what is missing: the packages of package.json, and what is named: `development` (the packages of tools/),
// and the builds `window`, `package`, `desktop`. Runs before everything else, on whatever Node is there (20 or newer).
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from './build.mjs';
import { HAS_NODE_24, NODE_24, npm, ROOT } from './tree.mjs';

/** What npm keeps of its last install in this folder, by any command. */
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json');

const DEVELOPMENT = 'tools/development';
/** Node 24 as an npm package, one for each system. */
const NODE = 'tools/node';

const packagesIn = (lockfile) => JSON.parse(readFileSync(lockfile, 'utf8')).packages;
const wanted = packagesIn(join(ROOT, 'package-lock.json'));
const found = existsSync(INSTALLED) ? packagesIn(INSTALLED) : {};

/**
 * Whether the packages are there that the root and `workspaces` ask for, and none is other than the lockfile has it. What
 * those need in turn came with them. Binaries for other systems may be missing.
 */
function isInstalled(workspaces) {
  const asked = ['', ...workspaces].flatMap((place) => {
    const { devDependencies, optionalDependencies, dependencies } = wanted[place];
    const names = Object.keys({ ...devDependencies, ...optionalDependencies, ...dependencies });
    return names.map((name) =>
      [`${place}/node_modules/${name}`, `node_modules/${name}`].find((path) => path in wanted),
    );
  });
  // npm writes down what it would install (--package-lock-only) where it writes down what it has installed.
  const isThere = (path) =>
    (path in found && existsSync(join(ROOT, path))) || wanted[path].optional === true;
  const isSame = ([path, { version, integrity }]) =>
    !(path in wanted) || (wanted[path].version === version && wanted[path].integrity === integrity);
  return asked.every(isThere) && Object.entries(found).every(isSame);
}

/** Without install scripts: better-sqlite3 brings its binaries, and npm would want a compiler to make others. */
async function install(workspaces) {
  // What is there is kept where it is right: a demo may be running on it.
  const how = existsSync(INSTALLED) ? ['install', '--no-save'] : ['ci'];
  const which =
    workspaces.length === 0
      ? ['--no-workspaces']
      : ['--include-workspace-root', ...workspaces.map((place) => `--workspace=${place}`)];
  console.log('Installing the dependencies, once …');
  const ended = await npm([...how, ...which, '--ignore-scripts', '--include=dev']);
  if (ended.code !== 0) fail('The dependencies could not be installed; npm says why above.');
}

/** Scripts of npm find programs here first. npm itself may leave this link out, since packages for other systems have it too. */
function linkNode() {
  const isWindows = process.platform === 'win32';
  const bin = join(ROOT, 'node_modules/.bin');
  const link = join(bin, isWindows ? 'node.cmd' : 'node');
  if (existsSync(link)) return;
  const program = relative(bin, NODE_24);
  mkdirSync(bin, { recursive: true });
  rmSync(link, { force: true });
  if (isWindows) writeFileSync(link, `@"%~dp0\\${program}" %*\r\n`);
  else symlinkSync(program, link);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const named = process.argv.slice(2);
// What is there already is kept up to date by every command.
const workspaces = [
  ...(named.includes('development') || DEVELOPMENT in found ? [DEVELOPMENT] : []),
  ...(!HAS_NODE_24 || NODE in found ? [NODE] : []),
];
if (!isInstalled(workspaces) || !existsSync(NODE_24)) await install(workspaces);
if (!existsSync(NODE_24)) {
  const system = `${process.platform} on ${process.arch}`;
  fail(`npm has no Node 24 for ${system}: install it (https://nodejs.org), then try again.`);
}
if (!HAS_NODE_24) linkNode();
if (!(await build(named.filter((name) => name !== 'development')))) process.exit(1);
