// Installs packages as the lockfile has them. Plain JavaScript that Node 20 understands.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCKED, npm, ROOT } from './tree.mjs';

/** What npm keeps of its last install in this folder, by any command. */
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json');

/** The lockfile under the name that npm prefers, with addresses; there while npm installs. */
const ADDRESSED = join(ROOT, 'npm-shrinkwrap.json');

const found = existsSync(INSTALLED) ? JSON.parse(readFileSync(INSTALLED, 'utf8')).packages : {};

/** Whether the packages of a workspace have been asked for before. */
export const isThere = (workspace) => workspace in found;

/**
 * Whether the packages are there that the root and `workspaces` ask for, and none is other than the lockfile has it. What
 * those need in turn came with them. Binaries for other systems may be missing.
 */
export function isInstalled(workspaces) {
  const asked = ['', ...workspaces].flatMap((place) => {
    const { devDependencies, optionalDependencies, dependencies } = LOCKED[place];
    const names = Object.keys({ ...devDependencies, ...optionalDependencies, ...dependencies });
    return names.map((name) =>
      [`${place}/node_modules/${name}`, `node_modules/${name}`].find((path) => path in LOCKED),
    );
  });
  // npm writes down what it would install (--package-lock-only) where it writes down what it has installed.
  const isHere = (path) =>
    (path in found && existsSync(join(ROOT, path))) || LOCKED[path].optional === true;
  const isSame = ([path, { version, integrity }]) =>
    !(path in LOCKED) || (LOCKED[path].version === version && LOCKED[path].integrity === integrity);
  return asked.every(isHere) && Object.entries(found).every(isSame);
}

/**
 * Without install scripts: better-sqlite3 brings its binaries, and npm would want a compiler to make others.
 * @returns {Promise<boolean>} whether the packages are there now; if not, npm has said why
 */
export async function install(workspaces) {
  // What is there is kept where it is right: a demo may be running on it.
  const how = existsSync(INSTALLED) ? ['install', '--no-save'] : ['ci'];
  const which =
    workspaces.length === 0
      ? ['--no-workspaces']
      : ['--include-workspace-root', ...workspaces.map((place) => `--workspace=${place}`)];
  const args = [...how, ...which, '--ignore-scripts', '--include=dev'];
  const { code, said } = await npmWithAddresses(args);
  // A registry that keeps archives elsewhere says where they are.
  if (code !== 0 && said.includes('E404')) return (await npm(args)).code === 0;
  process.stderr.write(said);
  return code === 0;
}

/**
 * The lockfile names no registry, so npm would ask it for the description of each package before its archive: 50 MB for a
 * start. Archives have the same paths in nearly all registries, and npm itself counts on that.
 */
async function npmWithAddresses(args) {
  const registry = await registryUrl();
  const packages = Object.entries(LOCKED).map(([place, entry]) => {
    const name = entry.name ?? place.replace(/^.*node_modules\//, '');
    const archive = `${name}/-/${name.replace(/^.*\//, '')}-${entry.version}.tgz`;
    return [place, entry.integrity ? { ...entry, resolved: `${registry}${archive}` } : entry];
  });
  const lockfile = { lockfileVersion: 3, requires: true, packages: Object.fromEntries(packages) };
  writeFileSync(ADDRESSED, JSON.stringify(lockfile));
  let said = '';
  const ended = await npm(args, {
    stdio: ['inherit', 'inherit', 'pipe'],
    onError: (text) => (said += text),
  });
  rmSync(ADDRESSED, { force: true });
  return { ...ended, said };
}

/** @returns {Promise<string>} the address of the registry, with a slash at its end */
async function registryUrl() {
  let printed = '';
  const stdio = ['ignore', 'pipe', 'inherit'];
  await npm(['config', 'get', 'registry'], { stdio, onOutput: (text) => (printed += text) });
  return printed.trim().replace(/\/*$/, '/');
}

/** What a run that was cut off has left would be taken for the lockfile. */
export function tidyUp() {
  rmSync(ADDRESSED, { force: true });
}
