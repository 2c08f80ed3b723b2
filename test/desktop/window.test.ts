import { expect, test } from 'vitest';
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

test('the page is the gateway’s own, with a session code of the main process', async () => {
  const { window } = await startDesktop();
  expect(window().loaded).toEqual(['http://127.0.0.1:47900/#code=1']);
});

test.each(['will-frame-navigate', 'will-redirect'])(
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

test('the desktop page opens no further windows', async () => {
  const { window } = await startDesktop();
  expect(window().webContents.openHandler()).toEqual({ action: 'deny' });
});

test.each([
  ['clipboard-sanitized-write', 'http://127.0.0.1:47900', true],
  ['clipboard-sanitized-write', 'https://example.com', false],
  ['clipboard-read', 'http://127.0.0.1:47900', false],
  ['notifications', 'http://127.0.0.1:47900', false],
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

test('a closed window is hidden, which it says once, and the gateway keeps running', async () => {
  const { window, host, app, boxes, tray } = await startDesktop();
  for (let times = 0; times < 2; times++) {
    tray().menu.click('Open dashboard');
    window().close();
    await settle();
    expect(window().state).toBe('hidden');
  }
  expect(boxes.map(({ message }) => message)).toEqual(['Inglenook keeps running']);
  expect(host.calls).toEqual(['start']);
  expect(app.calls).not.toContain('quit');
});

test('a closed window is minimised if no panel shows the tray', async () => {
  const { window, app } = await startDesktop({ panel: { isThere: false } });
  window().show();
  window().close();
  await settle();
  expect(window().state).toBe('minimized');
  app.emit('activate');
  expect(window().state).toBe('shown');
});

test('a page that crashes closes its window, quits nothing, and comes back by a click, with a new code', async () => {
  const { windows, window, app, notifications, logged } = await startDesktop();
  window().webContents.emit('render-process-gone', {}, { reason: 'clean-exit', exitCode: 0 });
  expect([window().state, notifications.length]).toEqual(['hidden', 0]);
  window().webContents.emit('render-process-gone', {}, { reason: 'oom', exitCode: 5 });
  expect(window().state).toBe('destroyed');
  expect(app.calls).not.toContain('quit');
  const told = [notifications[0]?.options.title, logged];
  expect(told).toEqual(['The app window stopped', ['page_gone']]);
  notifications[0]?.emit('click');
  expect(windows).toHaveLength(2);
  expect(window().loaded).toEqual(['http://127.0.0.1:47900/#code=2']);
});

test('the dock shows the app only while it has a window', async () => {
  const { app, window, tray } = await startDesktop({ platform: 'darwin' });
  window().show();
  expect(app.dockShown).toBe(true);
  window().close();
  await settle();
  expect(app.dockShown).toBe(false);
  tray().menu.click('Open dashboard');
  // It comes to the front of other apps.
  expect([app.dockShown, app.focused]).toEqual([true, 1]);
  window().destroy();
  expect(app.dockShown).toBe(false);
});

test('a page that cannot be loaded closes its window, and the gateway keeps running', async () => {
  const { notifications, window, app } = await startDesktop({
    prepare: ({ seen }) => void (seen.nextLoadError = new Error('ERR_CONNECTION_REFUSED')),
  });
  await settle();
  expect([notifications.length, window().state]).toEqual([1, 'destroyed']);
  expect(app.calls.some((call) => call.startsWith('exit'))).toBe(false);
});

test('a reload during the first load does not count as a failure', async () => {
  const aborted = Object.assign(new Error('ERR_ABORTED'), { code: 'ERR_ABORTED' });
  const { window } = await startDesktop({
    prepare: ({ seen }) => void (seen.nextLoadError = aborted),
  });
  await settle();
  expect(window().isDestroyed()).toBe(false);
});

test('a right click in the page offers what can be done there', async () => {
  const { window, menus } = await startDesktop();
  const click = (isEditable: boolean, selectionText: string) =>
    window().webContents.emit('context-menu', {}, { isEditable, selectionText });
  click(true, '');
  click(false, 'sk-1');
  click(false, ' \n');
  const opened = menus.filter(({ isOpened }) => isOpened);
  const offered = [['cut', 'copy', 'paste', 'selectAll'], ['copy']];
  expect(opened.map(({ labels }) => labels)).toEqual(offered);
});

test('the window is kept in its place by Electron, under a name', async () => {
  const { window } = await startDesktop();
  expect(window().options).toMatchObject({ name: 'main', windowStatePersistence: true });
});

test('only a hidden window is centred when a screen is unplugged', async () => {
  const { window, screen } = await startDesktop();
  window().show();
  screen.emit('display-removed');
  expect(window().centered).toBe(0);
  window().hide();
  screen.emit('display-removed');
  expect(window().centered).toBe(1);
});
