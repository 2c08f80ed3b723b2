import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLoginItem } from '../../main/desktop/login-item.ts';
import { createFakeElectron } from './fake-electron.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { startDesktop } from './harness.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy/desktop');
const ENTRY = '.config/autostart/io.github.inglenook.desktop';

/** Homes of users who start the app at login: of the package, and of a copy of one's own. */
function homes() {
  const root = temporaryDirectory();
  const programs = { ann: '/opt/Inglenook/inglenook-desktop', ben: '/home/ben/inglenook-desktop' };
  for (const [name, execPath] of Object.entries(programs)) {
    const { app } = createFakeElectron().electron;
    const env = { HOME: join(root, name) };
    createLoginItem({ app, platform: 'linux', env, execPath })?.set(true);
  }
  return {
    root,
    left: () => Object.keys(programs).filter((name) => existsSync(join(root, name, ENTRY))),
  };
}

/** Runs what the package manager runs, with stand-ins for what only root may do. */
function beforeRemove(root: string, argument: string): string {
  const tools = join(root, 'bin');
  mkdirSync(tools);
  const passwd = ['ann', 'ben', 'cy'].map((name) => `${name}:x:1:1::${join(root, name)}:/bin/sh`);
  const scripts = {
    getent: `echo "${passwd.join('\n')}"`,
    runuser: `echo "as $2"\nshift 3\nexec "$@"`,
  };
  for (const [name, text] of Object.entries(scripts))
    writeFileSync(join(tools, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const script = join(DEPLOY, 'before-remove.sh');
  const env = { PATH: `${tools}:${process.env['PATH']}` };
  return execFileSync('sh', [script, argument], { encoding: 'utf8', env });
}

describe.runIf(process.platform !== 'win32')('removal of a deb or rpm package', () => {
  test.each([
    [
      'the removal',
      'remove',
      'takes its login items away, each as its own user',
      'as ann\n',
      ['ben'],
    ],
    ['the removal', '0', 'takes its login items away, each as its own user', 'as ann\n', ['ben']],
    ['the upgrade', 'upgrade', 'leaves the login items', '', ['ann', 'ben']],
    ['the upgrade', '1', 'leaves the login items', '', ['ann', 'ben']],
  ])('%s of a deb or rpm package (%s) %s', (_what, argument, _how, said, kept) => {
    const { root, left } = homes();
    expect(beforeRemove(root, argument)).toBe(said);
    expect(left()).toEqual(kept);
  });
});

const uninstaller = readFileSync(join(DEPLOY, 'installer.nsh'), 'utf8');

test('the uninstaller of Windows deletes the login item by Electron’s name for it, except for an update', async () => {
  const { app } = await startDesktop({ platform: 'win32' });
  const packing = readFileSync(join(DEPLOY, '../../electron-builder.yml'), 'utf8');
  expect(packing).toContain(`\nappId: ${app.userModelId}\n`);
  const lines = uninstaller.split('\n').map((line) => line.trim());
  const deleted = lines.filter((line) => line.startsWith('DeleteRegValue'));
  const KEY = String.raw`DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion`;
  expect(deleted).toEqual([
    String.raw`${KEY}\Run" "${app.userModelId}"`,
    String.raw`${KEY}\Explorer\StartupApproved\Run" "${app.userModelId}"`,
  ]);
  expect(lines.indexOf('${ifNot} ${isUpdated}')).toBeLessThan(lines.indexOf(deleted[0] ?? ''));
});

// The script is compiled by tools for Windows alone, so only its words are looked at.
test('the installer of Windows asks a running app to quit, and waits, before electron-builder ends it', () => {
  const asks = uninstaller.indexOf('--action=quit');
  expect(uninstaller.indexOf('!macro customCheckAppRunning')).toBeLessThan(asks);
  expect(asks).toBeLessThan(uninstaller.indexOf('!insertmacro _CHECK_APP_RUNNING'));
});
