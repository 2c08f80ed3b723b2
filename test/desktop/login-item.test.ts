import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { createLoginItem } from '../../main/desktop/login-item.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { createFakeElectron } from './fake-electron.ts';

let home = '';
beforeEach(() => void (home = temporaryDirectory()));

const { app } = createFakeElectron().electron;
const itemOf = (...deps: Parameters<typeof createLoginItem>) =>
  createLoginItem(...deps) ?? expect.unreachable('the app is installed');
const onLinux = (execPath: string, env: Record<string, string> = {}) =>
  itemOf({ app, platform: 'linux', env: { HOME: home, ...env }, execPath });
const file = () => join(home, '.config/autostart/io.github.inglenook.desktop');

test('the Linux login item is a desktop entry that starts the app without its window', () => {
  const item = onLinux('/opt/Inglenook/inglenook');
  expect(item.isOn()).toBe(false);
  item.set(true);
  expect(item.isOn()).toBe(true);
  expect(readFileSync(file(), 'utf8')).toContain('Exec="/opt/Inglenook/inglenook" --hidden\n');
  item.set(false);
  expect(item.isOn()).toBe(false);
});

test.each(['Hidden=true', 'X-GNOME-Autostart-enabled=false'])(
  'the Linux login item is off when the desktop has switched it off by %s',
  (line) => {
    const item = onLinux('/opt/inglenook');
    item.set(true);
    writeFileSync(file(), `[Desktop Entry]\n${line}\n`);
    expect(item.isOn()).toBe(false);
  },
);

test('the Linux login item follows XDG_CONFIG_HOME', () => {
  const elsewhere = join(home, 'elsewhere');
  onLinux('/opt/inglenook', { XDG_CONFIG_HOME: elsewhere }).set(true);
  expect(readdirSync(join(elsewhere, 'autostart'))).toEqual(['io.github.inglenook.desktop']);
});

test.each(['darwin', 'win32'] as const)(
  'the login item of %s is kept by the system, and starts the app without its window',
  (platform) => {
    const fake = createFakeElectron(platform);
    const item = itemOf({ app: fake.electron.app, platform, env: {}, execPath: '/x' });
    item.set(true);
    expect(item.isOn()).toBe(true);
    expect(fake.app.loginCommand).toEqual(['inglenook', '--hidden']);
  },
);

test.each([
  ['darwin', { status: 'requires-approval' }, true],
  ['win32', { openAtLogin: true, executableWillLaunchAtLogin: false }, false],
] as const)('the login item of %s is what its owner made of it: %o', (platform, given, isOn) => {
  const fake = createFakeElectron(platform);
  fake.app.loginItem = given;
  const item = itemOf({ app: fake.electron.app, platform, env: {}, execPath: '/x' });
  expect(item.isOn()).toBe(isOn);
});

test.each([
  ['linux', { isPackaged: false }],
  ['darwin', { isPackaged: false }],
  ['win32', { isPackaged: false }],
  ['darwin', { isInstalled: false }],
] as const)('an app that is not installed has no login item (%s, %o)', (platform, given) => {
  const fake = createFakeElectron(platform);
  Object.assign(fake.app, given);
  const { app: bare } = fake.electron;
  expect(createLoginItem({ app: bare, platform, env: {}, execPath: '/x' })).toBeNull();
});
