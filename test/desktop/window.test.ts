import { describe, expect, test } from 'vitest';
import { FakeEvent } from './fake-electron.ts';
import { settle, startDesktop } from './harness.ts';

const FOREIGN = [
  'https://example.com/',
  'http://127.0.0.1:47901/',
  'http://localhost:47900/',
  'https://127.0.0.1:47900/',
  'http://127.0.0.1:47900@example.com/',
  'http://user@127.0.0.1:47900/',
  'http://127.0.0.1.example.com:47900/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'data:text/html,x',
  'about:blank',
  'smb://127.0.0.1/share',
  'not an address',
  '',
];

const CRASHED = { reason: 'crashed', exitCode: 5 };

describe('the page in the window', () => {
  test('the page is the gateway’s own, with a session code of the main process', async () => {
    const { window } = await startDesktop();
    expect(window().loaded).toEqual(['http://127.0.0.1:47900/#code=1']);
  });

  test('the desktop page has no Node and no privilege of its own', async () => {
    const { window } = await startDesktop();
    expect(window().options.webPreferences).toMatchObject({
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webSecurity: true,
      allowRunningInsecureContent: false,
      webviewTag: false,
    });
    expect(window().options.webPreferences).not.toHaveProperty('preload');
  });

  test.each(['will-navigate', 'will-frame-navigate', 'will-redirect'])(
    'the window never leaves the gateway’s own origin (%s)',
    async (name) => {
      const { window } = await startDesktop();
      const prevented = (url: string): boolean => {
        const event = new FakeEvent(url);
        window().webContents.emit(name, event);
        return event.prevented;
      };
      expect(FOREIGN.filter((url) => !prevented(url))).toEqual([]);
      expect(prevented('http://127.0.0.1:47900/?tab=requests')).toBe(false);
    },
  );

  test('the desktop page opens no further windows and holds no webview', async () => {
    const { window } = await startDesktop();
    expect(window().webContents.openHandler()).toEqual({ action: 'deny' });
    const event = new FakeEvent();
    window().webContents.emit('will-attach-webview', event);
    expect(event.prevented).toBe(true);
  });

  test.each([
    ['clipboard-sanitized-write', 'http://127.0.0.1:47900', true],
    ['clipboard-sanitized-write', 'https://example.com', false],
    ['clipboard-sanitized-write', '', false],
    ['clipboard-read', 'http://127.0.0.1:47900', false],
    ['notifications', 'http://127.0.0.1:47900', false],
    ['media', 'http://127.0.0.1:47900', false],
    ['openExternal', 'http://127.0.0.1:47900', false],
    ['unknown', 'http://127.0.0.1:47900', false],
  ])(
    'the permission %s for the page %j has the same answer, checked and asked: %s',
    async (permission, origin, granted) => {
      const { webContents } = (await startDesktop()).window();
      expect(webContents.check(null, permission, origin)).toBe(granted);
      const answers: boolean[] = [];
      webContents.request(null, permission, (answer) => void answers.push(answer), {
        requestingUrl: origin,
      });
      expect(answers).toEqual([granted]);
    },
  );
});

describe('closing and opening the window', () => {
  test('a closed window is hidden, and the gateway keeps running', async () => {
    const { window, host, app } = await startDesktop();
    window().show();
    window().close();
    await settle();
    expect(window().state).toBe('hidden');
    expect(host.calls).toEqual(['start']);
    expect(app.calls).not.toContain('quit');
  });

  test('a closed window is minimised where no panel shows the tray, and the app says once how to quit', async () => {
    const panel = { isThere: false };
    const { window, boxes } = await startDesktop({ panel });
    for (let times = 0; times < 2; times++) {
      window().show();
      window().close();
      await settle();
      expect(window().state).toBe('minimized');
    }
    expect(boxes.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('To quit, use the menu "Gateway"'),
    ]);
  });

  test('a minimised window comes back when it is opened or the app is activated', async () => {
    const { window, app } = await startDesktop();
    window().minimize();
    app.emit('activate');
    expect(window().state).toBe('shown');
  });

  test('a page that died is replaced when the window is opened, with a new code', async () => {
    const { windows, window, tray, app } = await startDesktop();
    window().destroy();
    app.emit('window-all-closed');
    expect(app.calls).not.toContain('quit');
    tray().menu.click('Open dashboard');
    expect(windows).toHaveLength(2);
    expect(window().loaded).toEqual(['http://127.0.0.1:47900/#code=2']);
  });

  test('a page that crashes comes back by itself, but not for ever', async () => {
    const { windows, window } = await startDesktop();
    window().webContents.emit('render-process-gone', {}, CRASHED);
    expect(windows).toHaveLength(2);
    window().webContents.emit('render-process-gone', {}, CRASHED);
    window().webContents.emit('render-process-gone', {}, CRASHED);
    expect(windows).toHaveLength(3);
    expect(window().isDestroyed()).toBe(true);
  });

  test('a page that crashes while its window is hidden comes back when it is opened', async () => {
    const { windows, window, tray } = await startDesktop();
    window().emit('ready-to-show');
    window().close();
    await settle();
    window().webContents.emit('render-process-gone', {}, CRASHED);
    expect([windows.length, window().state]).toEqual([1, 'destroyed']);
    tray().menu.click('Open dashboard');
    expect(windows).toHaveLength(2);
  });

  test('a page that crashes while its window is minimised leaves it so', async () => {
    const { windows, window } = await startDesktop();
    window().emit('ready-to-show');
    window().minimize();
    window().webContents.emit('render-process-gone', {}, CRASHED);
    window().emit('ready-to-show');
    expect([windows.length, window().state]).toEqual([2, 'minimized']);
  });

  test('the first close says once that the gateway keeps running', async () => {
    const { window, boxes, tray } = await startDesktop();
    window().close();
    await settle();
    expect(boxes.map(({ message }) => message)).toEqual(['Inglenook keeps running in the tray']);
    tray().menu.click('Open dashboard');
    window().close();
    await settle();
    expect(boxes).toHaveLength(1);
    expect(window().state).toBe('hidden');
  });

  test('the dock shows the app only while it has a window', async () => {
    const { app, window } = await startDesktop({ platform: 'darwin' });
    window().show();
    expect(app.dockShown).toBe(true);
    window().close();
    await settle();
    expect(app.dockShown).toBe(false);
  });

  test('the dock forgets a window that was given up, not only a hidden one', async () => {
    const { app, window } = await startDesktop({ platform: 'darwin' });
    window().show();
    window().destroy();
    expect(app.dockShown).toBe(false);
  });

  test('a window that is asked for comes to the front of other apps on macOS', async () => {
    const { app, tray } = await startDesktop({ platform: 'darwin' });
    tray().menu.click('Open dashboard');
    expect(app.focused).toBe(1);
    const other = await startDesktop({ platform: 'linux' });
    other.tray().menu.click('Open dashboard');
    expect(other.app.focused).toBe(0);
  });

  test('a reload during the first load is no failure', async () => {
    const { boxes, window } = await startDesktop({
      prepare: (fake) =>
        fake.failNextLoad(Object.assign(new Error('ERR_ABORTED'), { code: 'ERR_ABORTED' })),
    });
    await settle();
    expect(boxes).toEqual([]);
    expect(window().isDestroyed()).toBe(false);
  });

  test('a page that cannot be loaded is reported, and the gateway keeps running', async () => {
    const { boxes, errors, window, app } = await startDesktop({
      prepare: (fake) => fake.failNextLoad(new Error('ERR_CONNECTION_REFUSED')),
    });
    await settle();
    expect(boxes[0]?.detail).toContain('ERR_CONNECTION_REFUSED');
    expect(errors).toEqual([]);
    expect(window().state).toBe('destroyed');
    expect(app.calls.some((call) => call.startsWith('exit'))).toBe(false);
  });
});

describe('the place of the window', () => {
  test('the window is kept in its place by Electron, under a name', async () => {
    const { window } = await startDesktop();
    expect(window().options).toMatchObject({ name: 'main', windowStatePersistence: true });
  });

  test('a hidden window whose screen was unplugged is centred when it is opened, and no other', async () => {
    const { window, tray } = await startDesktop();
    const place = { x: 500, y: 90, width: 1300, height: 800 };
    for (const x of [500, 2500, -1250]) {
      window().hide();
      window().bounds = { ...place, x };
      tray().menu.click('Open dashboard');
      expect(window().bounds.x).toBe(x === 500 ? 500 : 300);
    }
    window().bounds = { ...place, x: 2500 };
    tray().menu.click('Open dashboard');
    expect(window().bounds.x).toBe(2500);
  });
});
