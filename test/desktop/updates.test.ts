import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { updateMeans, type UpdaterApi } from '../../main/desktop/updates.ts';
import { createManualClock } from '../support/clock.ts';
import { createFakeHost } from './fixtures.ts';
import { memoryFile, settle, startDesktop } from './harness.ts';

class FakeUpdater extends EventEmitter implements UpdaterApi {
  autoDownload = true;
  autoInstallOnAppQuit = true;
  readonly calls: string[] = [];
  checkForUpdates(): Promise<void> {
    this.calls.push('look');
    return Promise.resolve();
  }
  downloadUpdate(): Promise<void> {
    this.calls.push('download');
    return Promise.resolve();
  }
  quitAndInstall(): void {
    this.calls.push('install');
  }
}

const DAY_MS = 24 * 3_600_000;

async function started(means: 'install' | 'tell' = 'install', scene: object = {}) {
  const updater = new FakeUpdater();
  const clock = createManualClock();
  const host = createFakeHost();
  const load = () => Promise.resolve(updater);
  const desktop = await startDesktop({ host, clock, updater: { means, load }, ...scene });
  const click = async (label: string) => {
    await settle();
    desktop.tray().menu.click(label);
    await settle();
  };
  return { updater, clock, host, desktop, click };
}

describe('updates', () => {
  test.each([
    ['darwin', 'url: x', 'install'],
    ['win32', 'url: x\npublisherName:\n  - Ann', 'install'],
    ['win32', 'url: x', 'tell'],
    ['linux', 'url: x', 'tell'],
    ['darwin', null, 'none'],
  ] as const)('the means of updating on %s with the feed %j is %s', (platform, feed, means) => {
    expect(updateMeans(platform, feed)).toBe(means);
  });

  test('updates are not mentioned by a build that knows no address', async () => {
    const { tray } = await startDesktop();
    expect(() => tray().menu.item('Check for updates')).toThrow('no menu item');
  });

  test('an updater that could not be loaded once is loaded again by the next check', async () => {
    const updater = new FakeUpdater();
    let loads = 0;
    const load = () => {
      loads += 1;
      return loads === 1 ? Promise.reject(new Error('EMFILE')) : Promise.resolve(updater);
    };
    const { click } = await started('install', { updater: { means: 'install', load } });
    await click('Check for updates');
    await click('Check for updates (last time: EMFILE)');
    expect([loads, updater.calls]).toEqual([2, ['look']]);
  });

  test('updates are looked for once a day, and none is downloaded or installed unasked', async () => {
    const { updater, clock } = await started();
    clock.advance(60_000);
    await settle();
    expect(updater.calls).toEqual(['look']);
    expect([updater.autoDownload, updater.autoInstallOnAppQuit]).toEqual([false, false]);
    updater.emit('update-available', { version: '2.0.0' });
    clock.advance(3 * DAY_MS);
    await settle();
    expect(updater.calls).toEqual(['look']);
  });

  test('updates are not looked for where the owner has switched that off', async () => {
    const preferences = memoryFile();
    const { updater, clock, click } = await started('install', { preferences });
    await click('Check for updates every day');
    expect(preferences.now()).toMatchObject({ looksForUpdates: false });
    clock.advance(2 * DAY_MS);
    await settle();
    expect(updater.calls).toEqual([]);
    await click('Check for updates');
    expect(updater.calls).toEqual(['look']);
  });

  test('updates are downloaded and installed by a click each, after the gateway has ended', async () => {
    const { updater, click, host, desktop } = await started();
    await click('Check for updates');
    updater.emit('update-available', { version: '2.0.0' });
    await click('Download version 2.0.0');
    updater.emit('update-downloaded', { version: '2.0.0' });
    await click('Restart into version 2.0.0');
    expect(host.calls.at(-1)).toBe('stop');
    expect(updater.calls).toEqual(['look', 'download']);
    host.finishStop();
    await settle();
    expect(updater.calls.at(-1)).toBe('install');
    expect(desktop.window().state).toBe('destroyed');
    // The installer quits the app, and nothing may keep it.
    desktop.app.quit();
    expect(desktop.app.calls.at(-1)).toBe('quit');
  });

  test('updates are never installed while requests run, and go on when they have ended', async () => {
    const { updater, click, host } = await started();
    host.change({ inFlight: { local: 1 } });
    await click('Check for updates');
    updater.emit('update-downloaded', { version: '2.0.0' });
    await click('Restart into version 2.0.0');
    expect(host.calls).not.toContain('stop');
    host.change({});
    await settle();
    expect(host.calls).toContain('stop');
  });

  test('an update is installed once, whatever changes while the gateway ends', async () => {
    const { updater, click, host } = await started();
    host.change({ inFlight: { local: 1 } });
    await click('Check for updates');
    updater.emit('update-downloaded', { version: '2.0.0' });
    await click('Restart into version 2.0.0');
    for (let count = 0; count < 3; count++) {
      host.change({});
      await settle();
    }
    host.finishStop();
    await settle();
    expect(host.calls.filter((call) => call === 'stop')).toHaveLength(1);
    expect(updater.calls).toEqual(['look', 'install']);
  });

  test.each([
    ['the gateway fails to stop', new Error('no'), ['look', 'install'], []],
    ['the installer fails', undefined, ['look', 'install'], ['relaunch', 'exit 1']],
  ])(
    'an update leaves no app without its gateway where %s',
    async (_where, stopError, calls, ends) => {
      const { updater, click, host, desktop } = await started();
      await click('Check for updates');
      updater.emit('update-downloaded', { version: '2.0.0' });
      await click('Restart into version 2.0.0');
      host.finishStop(stopError);
      await settle();
      expect(updater.calls).toEqual(calls);
      if (ends.length > 0) updater.emit('error', new Error('EACCES: the installer'));
      await settle();
      expect(desktop.app.calls.slice(3)).toEqual(ends);
      expect(desktop.logged.includes('update_failed')).toBe(ends.length > 0);
    },
  );

  test('an update that nothing can verify is only announced', async () => {
    const { updater, click, desktop } = await started('tell');
    await click('Check for updates');
    updater.emit('update-available', { version: '2.0.0' });
    await expect
      .poll(() => desktop.tray().menu.items.map(({ label }) => label))
      .toContain('Version 2.0.0 is available: install it as you installed this one');
    expect(desktop.tray().menu.item('Version 2.0.0').enabled).toBe(false);
  });

  test('updates that fail say why, and can be asked for again', async () => {
    const { updater, click } = await started();
    await click('Check for updates');
    updater.emit('error', new Error('sha512 checksum mismatch'));
    await click('Check for updates (last time: sha512 checksum mismatch)');
    expect(updater.calls).toEqual(['look', 'look']);
  });
});
