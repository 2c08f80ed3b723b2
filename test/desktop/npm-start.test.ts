import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';
import { giveTreeToOtherUser, nodeOfOtherUser, OTHER_USER } from '../support/other-user.ts';
import { put } from './electron-distributions.ts';

// scripts/start.mjs in a tree of its own, with stand-ins for Electron, Vite and the headless entry.

const SCRIPTS = join(import.meta.dirname, '../../scripts');
const BUILT = ['Building the desktop app …', 'built'];

const INSTALL_FAILS = `
console.error('RequestError: getaddrinfo ENOTFOUND github.com');
console.error('    at ClientRequest.<anonymous> (/somewhere.js:1:1)');
process.exit(1);`;
const VITE = `
import { mkdirSync, writeFileSync } from 'node:fs';
mkdirSync('dist/desktop', { recursive: true });
writeFileSync('dist/desktop/electron.js', '');
console.log('built');`;
const HEADLESS = `console.log('headless', process.argv[1]?.endsWith('headless.ts')); process.exitCode = 3;`;

let nodeDirectory = '';
let node = '';
beforeAll(() => {
  nodeDirectory = mkdtempSync(join(tmpdir(), 'inglenook-node-'));
  node = nodeOfOtherUser(nodeDirectory);
});
afterAll(() => rmSync(nodeDirectory, { recursive: true, force: true }));

function makeTree(install: string, electron = 'exit 0'): string {
  const tree = put(temporaryDirectory(), {
    'package.json': '{"type":"module"}',
    'shared/none.ts': '',
    'main/headless.ts': HEADLESS,
    'node_modules/electron/package.json': '{}',
    'node_modules/electron/install.js': install,
    'node_modules/electron/path.txt': 'electron',
    'node_modules/electron/dist/electron': `#!/bin/sh\n${electron}\n`,
    'node_modules/vite/package.json': '{"type":"module"}',
    'node_modules/vite/bin/vite.js': VITE,
    'package-lock.json': '{"packages":{"":{}}}',
    'node_modules/.package-lock.json': '{"packages":{}}',
  });
  mkdirSync(join(tree, 'scripts'));
  for (const script of globSync('*.mjs', { cwd: SCRIPTS }))
    copyFileSync(join(SCRIPTS, script), join(tree, 'scripts', script));
  giveTreeToOtherUser(tree);
  return tree;
}

function start(tree: string, env: Record<string, string>) {
  const done = spawnSync(node, [join(tree, 'scripts/start.mjs')], {
    cwd: tree,
    env: { PATH: process.env['PATH'], ...env },
    encoding: 'utf8',
    // As root it would not try Electron at all.
    ...(OTHER_USER === null ? {} : { uid: OTHER_USER, gid: OTHER_USER }),
  });
  return {
    code: done.status,
    // On a busy machine the stand-in for the download may take long enough to be announced.
    lines: done.stdout.split('\n').filter((line) => line !== '' && !line.startsWith('Fetching')),
    errors: done.stderr,
  };
}

const DISPLAY = { DISPLAY: ':0' };
const isPosix = process.platform !== 'win32';

describe.runIf(isPosix)('npm start', () => {
  test.runIf(process.platform === 'linux')(
    'npm start without a display says so in one line, downloads nothing and runs headless',
    () => {
      const tree = makeTree('process.exit(9)');
      expect(start(tree, {})).toEqual({
        code: 3,
        lines: ['There is no display here; running headless.', 'headless true'],
        errors: '',
      });
    },
  );

  test('npm start without Electron says why in one line, without a stack, and runs headless', () => {
    expect(start(makeTree(INSTALL_FAILS), DISPLAY)).toEqual({
      code: 3,
      lines: [
        ...BUILT,
        "Electron's binary is not here and could not be downloaded: getaddrinfo ENOTFOUND github.com; running headless.",
        'headless true',
      ],
      errors: '',
    });
  });

  test('npm start with Electron builds the bundle, opens it and passes the exit code on', () => {
    const tree = makeTree(
      'process.exit(0)',
      'echo "electron $1 ${ELECTRON_RUN_AS_NODE-unset}"; exit 7',
    );
    const first = start(tree, { ...DISPLAY, ELECTRON_RUN_AS_NODE: '1' });
    expect(first).toEqual({ code: 7, lines: [...BUILT, `electron ${tree} unset`], errors: '' });
    expect(existsSync(join(tree, 'dist/desktop/electron.js'))).toBe(true);
    expect(start(tree, DISPLAY).lines).toEqual([`electron ${tree} unset`]);
  });

  test('npm start runs headless if Chromium dies at once, and says what allows its sandbox if Ubuntu does not', () => {
    const tree = makeTree('process.exit(0)', 'kill -TRAP $$');
    const lines = ['Electron could not start here (SIGTRAP); running headless.', 'headless true'];
    expect(start(tree, DISPLAY).lines.slice(BUILT.length)).toEqual(lines);
    const script = join(tree, 'scripts/start.mjs');
    const text = readFileSync(script, 'utf8');
    const setting = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns';
    put(tree, { userns: '1\n' });
    writeFileSync(script, text.replace(setting, join(tree, 'userns')));
    const helper = join(tree, 'node_modules/electron/dist/chrome-sandbox');
    const advice = start(tree, DISPLAY).lines.slice(2, 4);
    expect(advice).toEqual([`  sudo chown root ${helper}`, `  sudo chmod 4755 ${helper}`]);
  });
});
