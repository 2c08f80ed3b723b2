import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
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
  'node_modules/@inglenook/development': { resolved: 'tools/development', link: true },
  'tools/development': {},
};

type Packages = Readonly<Record<string, object>>;

const WANTED: Packages = {
  '': { name: 'x', devDependencies: { 'left-pad': '1.3.0', 'other-system': '2.3.3' } },
  'tools/desktop': { devDependencies: {} },
  'tools/development': { devDependencies: { 'fast-check': '4.10.2' } },
  'tools/node': { optionalDependencies: {} },
  'node_modules/@inglenook/development': { resolved: 'tools/development', link: true },
  'node_modules/fast-check': FAST_CHECK,
  'node_modules/left-pad': LEFT_PAD,
  'node_modules/other-system': OTHER_SYSTEM,
};

const PROGRAM = packagedNode(process.platform, process.arch);
const NODE_NAME = PROGRAM.split('/')[0] ?? '';
const ROOT_ONLY: Packages = { 'node_modules/left-pad': LEFT_PAD };

/** Says what it is asked for and with which lockfile, and answers as a test has put it beside it. */
const NPM = `#!/bin/sh
here=$(dirname "$0")
case $1 in
config) echo https://packages.example/npm ;;
pack)
  for each; do case $each in --pack-destination=*) folder=\${each#*=} ;; esac; done
  cp "$here"/*.tgz "$folder" ;;
*)
  echo "npm $*"
  if [ ! -f npm-shrinkwrap.json ]; then exit 0; fi
  cp npm-shrinkwrap.json "$here/addressed.json"
  if [ -f "$here/said" ]; then cat "$here/said" >&2; exit 1; fi ;;
esac
`;

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
  for (const script of globSync('*.mjs', { cwd: SCRIPTS })) {
    copyFileSync(join(SCRIPTS, script), put(`scripts/${script}`, ''));
  }
  chmodSync(put('bin/npm', NPM), 0o755);
  put('old.cjs', `Object.defineProperty(process.versions, 'node', { value: '20.20.2' });`);
  if (installed !== null) {
    const lockfile = { lockfileVersion: 3, packages: installed };
    put('node_modules/.package-lock.json', JSON.stringify(lockfile));
    for (const path of Object.keys(installed)) mkdirSync(join(tree, path), { recursive: true });
  }
  return tree;
}

/** Adds to the lockfile a package of Node, which npm packs; its program is none. */
function addNode24(tree: string, entry: object = {}): void {
  const folder = temporaryDirectory();
  const archive = join(tree, `bin/${NODE_NAME}-24.0.0.tgz`);
  for (const path of [PROGRAM.replace(NODE_NAME, 'package'), 'package/include/node.h']) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), 'the program');
  }
  execFileSync('tar', ['-czf', archive, 'package'], { cwd: folder });
  const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
  const node = { version: '24.0.0', integrity: `sha512-${digest}`, optional: true, ...entry };
  const packages = { ...WANTED, [`node_modules/${NODE_NAME}`]: node };
  writeFileSync(join(tree, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }));
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
    const tools =
      '--include-workspace-root --workspace=tools/development --workspace=tools/desktop';
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
    const tools =
      '--include-workspace-root --workspace=tools/development --workspace=tools/desktop';
    expect(setUp(tree)).toEqual({ ...DONE, asked: [`install --no-save ${tools}`] });
  });

  test('set-up gives npm the address of each archive, in the registry that npm is set to', () => {
    const tree = checkout(null);
    expect(setUp(tree)).toMatchObject(DONE);
    const { packages } = JSON.parse(readFileSync(join(tree, 'bin/addressed.json'), 'utf8')) as {
      packages: Packages;
    };
    expect(packages['node_modules/left-pad']).toEqual({
      ...LEFT_PAD,
      resolved: 'https://packages.example/npm/left-pad/-/left-pad-1.3.0.tgz',
    });
    const link = 'node_modules/@inglenook/development';
    expect([packages[link], packages['']]).toEqual([WANTED[link], WANTED['']]);
    expect(existsSync(join(tree, 'npm-shrinkwrap.json'))).toBe(false);
  });

  test('set-up asks a registry that keeps archives at other paths where they are', () => {
    const tree = checkout(null);
    writeFileSync(join(tree, 'bin/said'), 'npm error code E404\n');
    const asked = ['ci --no-workspaces', 'ci --no-workspaces'];
    expect(setUp(tree)).toEqual({ ...DONE, asked });
  });

  test('set-up passes on what npm says of an install that failed, and leaves no lockfile of its own', () => {
    const tree = checkout(null);
    writeFileSync(join(tree, 'bin/said'), 'npm error code ENOSPC\n');
    const { status, stderr, asked } = setUp(tree);
    expect([status, asked]).toEqual([1, ['ci --no-workspaces']]);
    expect(stderr).toMatch(/^npm error code ENOSPC\nThe dependencies could not be installed/);
    expect(existsSync(join(tree, 'npm-shrinkwrap.json'))).toBe(false);
  });

  test('set-up removes the lockfile that an interrupted install left', () => {
    const tree = checkout(ROOT_ONLY);
    writeFileSync(join(tree, 'npm-shrinkwrap.json'), '{}');
    expect(setUp(tree)).toEqual({ ...DONE, asked: [] });
    expect(existsSync(join(tree, 'npm-shrinkwrap.json'))).toBe(false);
  });

  test('set-up says so where npm has no Node 24 for this system', () => {
    const { status, stderr } = setUp(checkout(ROOT_ONLY), [], '20');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^npm has no Node 24 for .+\. Install it \(https:\/\/nodejs.org\)/);
  });

  test('set-up on an older Node takes Node 24 out of the package in the lockfile, and scripts of npm run on it', () => {
    const tree = checkout(ROOT_ONLY);
    addNode24(tree);
    const link = join(tree, 'node_modules/.bin/node');
    expect(setUp(tree, [], '20')).toEqual({ ...DONE, asked: [] });
    expect(realpathSync(link)).toBe(join(realpathSync(tree), '.cache/node/24.0.0', PROGRAM));
    expect(readFileSync(link, 'utf8')).toBe('the program');
    // Its headers stay in the archive, and that goes.
    expect(globSync('.cache/**/*', { cwd: tree }).map((path) => path.split('/').at(-1))).toEqual(
      expect.not.arrayContaining(['node.h', expect.stringContaining('.tgz')]),
    );
    rmSync(join(tree, 'bin'), { recursive: true });
    expect(setUp(tree, [], '20')).toEqual({ ...DONE, asked: [] });
  });

  test('set-up refuses a package of Node that differs from the lockfile', () => {
    const tree = checkout(ROOT_ONLY);
    addNode24(tree, { integrity: 'sha512-x' });
    const { status, stderr } = setUp(tree, [], '20');
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('other than the lockfile has it'),
    ]);
    expect(existsSync(join(tree, '.cache/node'))).toBe(false);
  });

  test('scripts of npm run on the Node 24 that a plain npm ci has brought', () => {
    const tree = checkout(ROOT_ONLY);
    addNode24(tree);
    const program = join(tree, 'node_modules', PROGRAM);
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, '');
    // npm may leave its link out, since packages for other systems have it too.
    expect(setUp(tree, [], '20')).toEqual({ ...DONE, asked: [] });
    expect(realpathSync(join(tree, 'node_modules/.bin/node'))).toBe(realpathSync(program));
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
