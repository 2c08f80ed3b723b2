import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';

// scripts/setup.mjs in a tree of its own, with a stand-in for npm.

const ROOT = join(import.meta.dirname, '../..');
const SCRIPTS = join(ROOT, 'scripts');
const readJson = (name: string) =>
  JSON.parse(readFileSync(join(ROOT, name), 'utf8')) as Readonly<Record<string, object>>;

// In a variable, because the scripts have no types.
const TREE = pathToFileURL(join(SCRIPTS, 'tree.mjs')).href;
const { packagedNode } = (await import(TREE)) as {
  packagedNode: (platform?: string, arch?: string) => string;
};

const LEFT_PAD = { version: '1.3.0', integrity: 'sha512-a' };
const OTHER_SYSTEM = { version: '2.3.3', integrity: 'sha512-b', optional: true, os: ['plan9'] };
const FAST_CHECK = { version: '4.10.2', integrity: 'sha512-c' };
const LINKS = {
  'node_modules/@switchyard/development': { resolved: 'tools/development', link: true },
  'tools/development': {},
};

type Packages = Readonly<Record<string, object>>;

const WANTED: Packages = {
  '': { name: 'x', devDependencies: { 'left-pad': '1.3.0', 'other-system': '2.3.3' } },
  'tools/development': { devDependencies: { 'fast-check': '4.10.2' } },
  'tools/node': { optionalDependencies: {} },
  'node_modules/@switchyard/development': { resolved: 'tools/development', link: true },
  'node_modules/fast-check': FAST_CHECK,
  'node_modules/left-pad': LEFT_PAD,
  'node_modules/other-system': OTHER_SYSTEM,
};

const ROOT_ONLY: Packages = { 'node_modules/left-pad': LEFT_PAD };

/** A checkout whose node_modules holds what an install left there; null is none at all. */
function checkout(installed: Packages | null): string {
  const tree = temporaryDirectory();
  const put = (name: string, text: string) => {
    const path = join(tree, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  put('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages: WANTED }));
  for (const script of ['setup.mjs', 'build.mjs', 'tree.mjs']) {
    copyFileSync(join(SCRIPTS, script), put(`scripts/${script}`, ''));
  }
  chmodSync(put('bin/npm', '#!/bin/sh\necho "npm $*"\n'), 0o755);
  put('old.cjs', `Object.defineProperty(process.versions, 'node', { value: '20.20.2' });`);
  if (installed !== null) {
    const lockfile = { lockfileVersion: 3, packages: installed };
    put('node_modules/.package-lock.json', JSON.stringify(lockfile));
    for (const path of Object.keys(installed)) mkdirSync(join(tree, path), { recursive: true });
  }
  return tree;
}

/** Runs it on this Node or, as it believes, on Node 20; `asked` is what it ran of npm, its usual options aside. */
function setUp(tree: string, names: readonly string[] = [], version: 'this' | '20' = 'this') {
  const old = version === '20' ? ['-r', './old.cjs'] : [];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...old, 'scripts/setup.mjs', ...names],
    { cwd: tree, env: { PATH: `${join(tree, 'bin')}:/usr/bin:/bin` }, encoding: 'utf8' },
  );
  const asked = [...stdout.matchAll(/^npm (.*?) --ignore-scripts/gm)].map(([, args]) => args);
  return { status, stderr, asked };
}

const DONE = { status: 0, stderr: '' };

describe.runIf(process.platform !== 'win32')('the set-up of a checkout', () => {
  test('set-up does not install dependencies again after an npm ci', () => {
    const all = { ...ROOT_ONLY, ...LINKS, 'node_modules/fast-check': FAST_CHECK };
    expect(setUp(checkout(all))).toEqual({ ...DONE, asked: [] });
    expect(setUp(checkout(all), ['development'])).toEqual({ ...DONE, asked: [] });
    // What somebody tried out by `npm install --no-save`.
    const more = { ...all, 'node_modules/right-pad': { version: '1.0.0', integrity: 'sha512-d' } };
    expect(setUp(checkout(more))).toEqual({ ...DONE, asked: [] });
  });

  test('a start installs what the program needs, and the tests add their tools to what is there', () => {
    expect(setUp(checkout(null))).toEqual({ ...DONE, asked: ['ci --no-workspaces'] });
    expect(setUp(checkout(ROOT_ONLY))).toEqual({ ...DONE, asked: [] });
    const tools = '--include-workspace-root --workspace=tools/development';
    expect(setUp(checkout(ROOT_ONLY), ['development'])).toEqual({
      ...DONE,
      asked: [`install --no-save ${tools}`],
    });
    expect(setUp(checkout(null), ['development'])).toEqual({ ...DONE, asked: [`ci ${tools}`] });
  });

  test.each<[string, Packages]>([
    ['a package is missing', {}],
    [
      'a package is of another version',
      { 'node_modules/left-pad': { ...LEFT_PAD, version: '1.2.0' } },
    ],
    [
      'a package has other contents',
      { 'node_modules/left-pad': { ...LEFT_PAD, integrity: 'sha512-x' } },
    ],
  ])('set-up installs dependencies where %s', (_why, installed) => {
    const asked = ['install --no-save --no-workspaces'];
    expect(setUp(checkout(installed))).toEqual({ ...DONE, asked });
  });

  test('set-up installs dependencies that npm has listed as installed but that are not there', () => {
    const tree = checkout(ROOT_ONLY);
    rmSync(join(tree, 'node_modules/left-pad'), { recursive: true });
    expect(setUp(tree)).toEqual({ ...DONE, asked: ['install --no-save --no-workspaces'] });
  });

  test('a start keeps tools that are already there up to date, so that the next one installs nothing', () => {
    const old = { ...FAST_CHECK, version: '4.10.1' };
    const tree = checkout({ ...ROOT_ONLY, ...LINKS, 'node_modules/fast-check': old });
    const tools = '--include-workspace-root --workspace=tools/development';
    expect(setUp(tree)).toEqual({ ...DONE, asked: [`install --no-save ${tools}`] });
  });

  test('set-up installs Node 24 where an older one runs, and says so if npm has none for this system', () => {
    const { status, stderr, asked } = setUp(checkout(ROOT_ONLY), [], '20');
    expect([status, asked]).toEqual([
      1,
      ['install --no-save --include-workspace-root --workspace=tools/node'],
    ]);
    expect(stderr).toMatch(/^npm has no Node 24 for .+: install it \(https:\/\/nodejs.org\)/);
  });

  test('scripts of npm run on the Node 24 that was installed, whether or not npm links it', () => {
    const tree = checkout(ROOT_ONLY);
    const program = join(tree, 'node_modules', packagedNode(process.platform, process.arch));
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, '');
    const link = join(tree, 'node_modules/.bin/node');
    expect(setUp(tree, [], '20')).toEqual({ ...DONE, asked: [] });
    expect(realpathSync(link)).toBe(realpathSync(program));
    expect(setUp(tree, [], '20')).toEqual({ ...DONE, asked: [] });
  });
});

test('npm has a package of Node for each system that the program runs on', () => {
  const { optionalDependencies } = readJson('tools/node/package.json');
  const systems = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'];
  const names = systems.map((system) => {
    const [platform, arch] = system.split('-');
    return packagedNode(platform, arch).split('/')[0];
  });
  expect(new Set(names)).toEqual(new Set(Object.keys(optionalDependencies ?? {})));
});

test('set-up runs no install script, as that would need a compiler or the network', () => {
  const scripted = Object.entries(readJson('package-lock.json')['packages'] as Packages)
    // With such a file npm runs a compiler by itself.
    .filter(([at, it]) => 'hasInstallScript' in it || existsSync(join(ROOT, at, 'binding.gyp')))
    .map(([place]) => place.replace(/^.*node_modules\//, ''));
  const allowed = scripted.map((name) => [name, false]);
  expect(readJson('package.json')['allowScripts']).toEqual(Object.fromEntries(allowed));
});
