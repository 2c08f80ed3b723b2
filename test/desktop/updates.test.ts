import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { UpdateSource } from '../../main/desktop/system.ts';
import { updateMeans } from '../../main/desktop/updates.ts';
import { memoryFile, settle, startDesktop } from './harness.ts';

class FakeUpdater extends EventEmitter {
  autoDownload = true;
  autoInstallOnAppQuit = true;
  newest = '1.0.0';
  failure: Error | null = null;
  readonly calls: string[] = [];
  checkForUpdates() {
    this.calls.push('look');
    if (this.failure !== null) return Promise.reject(this.failure);
    const isUpdateAvailable = this.newest !== '1.0.0';
    return Promise.resolve({ isUpdateAvailable, updateInfo: { version: this.newest } });
  }
  downloadUpdate() {
    this.calls.push('download');
    return Promise.resolve([]);
  }
  quitAndInstall(): void {
    this.calls.push('install');
  }
}

const DAY_MS = 24 * 3_600_000;

async function started(means: 'install' | 'tell' = 'install', preferences = memoryFile()) {
  const updater = new FakeUpdater();
  // Of electron-updater only what is used.
  const load = () => Promise.resolve(updater) as unknown as ReturnType<UpdateSource['load']>;
  const desktop = await startDesktop({ preferences, updater: { means, load } });
  const click = async (label: string) => {
    await settle();
    await desktop.choose(label);
  };
  return { ...desktop, updater, click };
}

test.each([
  ['darwin', 'url: x', 'install'],
  ['win32', 'url: x\npublisherName:\n  - Ann', 'install'],
  ['win32', 'url: x', 'tell'],
  ['linux', 'url: x', 'tell'],
  ['darwin', null, null],
] as const)('the means of updating on %s with the feed %j is %s', (platform, feed, means) => {
  expect(updateMeans(platform, feed)).toBe(means);
});

test('the app looks for updates once a day, and downloads or installs none unasked', async () => {
  const { updater, clock } = await started();
  clock.advance(60_000);
  await settle();
  expect(updater.calls).toEqual(['look']);
  expect([updater.autoDownload, updater.autoInstallOnAppQuit]).toEqual([false, false]);
  updater.newest = '2.0.0';
  for (let day = 0; day < 3; day++) {
    clock.advance(DAY_MS);
    await settle();
  }
  expect(updater.calls).toEqual(['look', 'look']);
});

test('the app does not look for updates if the owner has switched that off', async () => {
  const preferences = memoryFile();
  const { updater, clock, click } = await started('install', preferences);
  await click('Check for updates every day');
  expect(preferences.now()).toMatchObject({ looksForUpdates: false });
  clock.advance(2 * DAY_MS);
  await settle();
  expect(updater.calls).toEqual([]);
  await click('Check for updates');
  expect(updater.calls).toEqual(['look']);
});

test('updates are downloaded and installed by a click each, after the gateway has ended', async () => {
  const { updater, click, host, tray, window, app } = await started();
  updater.newest = '2.0.0';
  await click('Check for updates');
  await click('Download version 2.0.0');
  host.change({ inFlight: { local: 1 } });
  await click('Restart into version 2.0.0');
  expect(host.calls.at(-1)).toBe('stop');
  expect(updater.calls).toEqual(['look', 'download']);
  expect(tray().menu.items[0]?.label).toMatch(/^Quitting when/);
  host.finishStop();
  await settle();
  expect(updater.calls.at(-1)).toBe('install');
  expect(window().state).toBe('destroyed');
  // The installer quits the app, and nothing may keep it.
  app.quit();
  expect(app.calls.at(-1)).toBe('quit');
});

test('an installer that fails counts as a crash, after which the app restarts with its gateway', async () => {
  const { updater, click, host, crash, app } = await started();
  updater.newest = '2.0.0';
  await click('Check for updates');
  await click('Download version 2.0.0');
  await click('Restart into version 2.0.0');
  host.finishStop(new Error('no'));
  await settle();
  expect(updater.calls).toEqual(['look', 'download', 'install']);
  const uncaught = new Promise((resolve) => process.once('unhandledRejection', resolve));
  const others = process.listeners('unhandledRejection');
  for (const other of others.slice(0, -1)) process.off('unhandledRejection', other);
  updater.emit('error', new Error('EACCES: the installer'));
  crash(await uncaught);
  for (const other of others.slice(0, -1)) process.on('unhandledRejection', other);
  expect(app.calls.slice(-2)).toEqual(['relaunch --hidden', 'exit 1']);
});

test('an update that nothing can verify is only announced', async () => {
  const { updater, click, tray } = await started('tell');
  updater.newest = '2.0.0';
  await click('Check for updates');
  const { label, enabled } = tray().menu.item('Version 2.0.0');
  expect(label).toBe('Version 2.0.0 is available: install it as you installed this one');
  expect(enabled).toBe(false);
});

test('updates that fail say why, and can be asked for again', async () => {
  const { updater, click } = await started();
  updater.failure = new Error('sha512 checksum mismatch');
  await click('Check for updates');
  await click('Check for updates (last time: sha512 checksum mismatch)');
  expect(updater.calls).toEqual(['look', 'look']);
});
