import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';

// scripts/setup.mjs in a tree of its own, with a stand-in for npm.

const ROOT = join(import.meta.dirname, '../..');
const SCRIPTS = join(ROOT, 'scripts');
const LEFT_PAD = { version: '1.3.0', integrity: 'sha512-a' };
const OTHER_SYSTEM = { version: '2.3.3', integrity: 'sha512-b', optional: true, os: ['plan9'] };

type Packages = Readonly<Record<string, object>>;

const WANTED: Packages = {
  '': { name: 'x', dependencies: { 'left-pad': '1.3.0' } },
  'node_modules/left-pad': LEFT_PAD,
  'node_modules/other-system': OTHER_SYSTEM,
};

/** A checkout whose node_modules holds what `npm ci` left there; null is none at all. */
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
  chmodSync(put('bin/npm', '#!/bin/sh\necho "npm $1"\n'), 0o755);
  put('node_modules/node/bin/node', '');
  if (installed !== null) {
    const lockfile = { lockfileVersion: 3, packages: installed };
    put('node_modules/.package-lock.json', JSON.stringify(lockfile));
  }
  return tree;
}

/** Runs it; `asked` is what it ran of npm. */
function setUp(tree: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/setup.mjs'], {
    cwd: tree,
    env: { PATH: `${join(tree, 'bin')}:/usr/bin:/bin` },
    encoding: 'utf8',
  });
  return { status, stderr, asked: stdout.split('\n').filter((line) => line.startsWith('npm ')) };
}

describe.runIf(process.platform !== 'win32')('the dependencies', () => {
  test('dependencies are not installed again after an npm ci of one’s own', () => {
    const done = setUp(checkout({ 'node_modules/left-pad': LEFT_PAD }));
    expect(done).toEqual({ status: 0, stderr: '', asked: [] });
  });

  test.each<[string, Packages | null]>([
    ['there are no packages', null],
    ['a package is missing', {}],
    [
      'a package is of another version',
      { 'node_modules/left-pad': { ...LEFT_PAD, version: '1.2.0' } },
    ],
    [
      'a package has other contents',
      { 'node_modules/left-pad': { ...LEFT_PAD, integrity: 'sha512-c' } },
    ],
  ])('dependencies are installed where %s', (_why, installed) => {
    expect(setUp(checkout(installed))).toEqual({ status: 0, stderr: '', asked: ['npm ci'] });
  });

  test('dependencies are left alone where only Node 24 is missing: its install script runs again, and it is said if that brought none', () => {
    const tree = checkout({ 'node_modules/left-pad': LEFT_PAD });
    rmSync(join(tree, 'node_modules/node'), { recursive: true });
    const { status, stderr, asked } = setUp(tree);
    expect([status, asked]).toEqual([1, ['npm rebuild']]);
    expect(stderr).toContain('package "node"');
  });
});

test('no install script but Node’s runs at setup, as it would want a compiler or the network', () => {
  const read = (name: string) =>
    JSON.parse(readFileSync(join(ROOT, name), 'utf8')) as Record<string, object>;
  const scripted = Object.entries(read('package-lock.json')['packages'] as Packages)
    // With such a file npm runs a compiler by itself.
    .filter(([at, it]) => 'hasInstallScript' in it || existsSync(join(ROOT, at, 'binding.gyp')))
    .map(([place]) => place.replace(/^.*node_modules\//, ''));
  const allowed = scripted.map((name) => [name, name === 'node']);
  expect(read('package.json')['allowScripts']).toEqual(Object.fromEntries(allowed));
});
